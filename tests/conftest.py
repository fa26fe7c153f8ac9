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


TINY = (
    "data.generate={corpus: interview, seed: 0,"
    " sizes: {train: 20, valid: 5, unseen_combinations: 5, unseen_values: 5}}",
    "text.vocabulary=300",
    "text.budgets={persona: 224, context: 160, reply: 64}",
    "model.options.encoder={hidden_size: 16, num_hidden_layers: 1, num_attention_heads: 2,"
    " intermediate_size: 32, max_position_embeddings: 224}",
    "model.options.decoder={n_embd: 16, n_layer: 2, n_head: 2, n_positions: 512}",
    "train.steps=2",
    "train.batch=8",
    "train.precision=fp32",
    "decoding.max_tokens=8",
)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an interview run of two steps: do not write to it, copy it first."""
    from personae.recipe import load_recipe
    from personae.training import train

    folder = tmp_path_factory.mktemp("runs") / "tiny"
    train(load_recipe("interview/paa", TINY), folder)
    return folder


@pytest.fixture(scope="session")
def tiny_checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a consistency checker of some seconds: do not write to it."""
    from tests.consistency.small import train

    folder = tmp_path_factory.mktemp("checkers") / "tiny"
    train(folder)
    return folder
