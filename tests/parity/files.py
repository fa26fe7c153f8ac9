"""Files of recorded numbers: reading one, and running a test on every one of a form."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from safetensors import safe_open
from torch import Tensor


@dataclass
class File:
    """One file: tensors by key, and the facts in its metadata."""

    path: Path
    tensors: dict[str, Tensor]
    facts: dict[str, str]

    @classmethod
    def load(cls, path: Path) -> Self:
        with safe_open(path, "pt") as file:
            return cls(path, {key: file.get_tensor(key) for key in file.keys()}, file.metadata() or {})  # noqa: SIM118

    def number(self, name: str) -> int:
        return int(self.facts[name])


def for_every_file(
    metafunc: pytest.Metafunc,
    folder: str,
    pattern: str = "*.safetensors",
    keep: Callable[[Path], bool] = lambda _: True,
    fixture: str = "recording",
    indirect: bool = True,
) -> None:
    """Run a test that takes ``fixture`` on every file of the form; without any it is skipped, and says so."""
    if fixture not in metafunc.fixturenames:
        return
    where = Path(metafunc.config.getoption("--reference")) / folder
    files = [path for path in sorted(where.glob(pattern)) if keep(path)]
    missing = pytest.param(None, marks=pytest.mark.skip(reason=f"no recorded {pattern} in {where}"), id="absent")
    metafunc.parametrize(fixture, files or [missing], indirect=indirect, ids=lambda path: path and path.stem)
