"""Shared fixtures: reference values and data that lie outside the repository are skipped where absent."""

from pathlib import Path

import pytest

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "reference"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reference", type=Path, default=DEFAULT, help="folder of recorded reference values")


@pytest.fixture(scope="session")
def reference(request: pytest.FixtureRequest) -> Path:
    """Folder of values recorded from published code."""
    return _present(request.config.getoption("--reference"), "reference values")


@pytest.fixture(scope="session")
def shared_data(request: pytest.FixtureRequest) -> Path:
    """Folder of data sets beside the reference values."""
    return _present(request.config.getoption("--reference").parent / "data", "data sets")


def _present(folder: Path, what: str) -> Path:
    if not folder.is_dir():
        pytest.skip(f"{what} are not at {folder}: give --reference DIR")
    return folder
