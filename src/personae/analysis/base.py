"""Analysis: numbers and the pictures of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from personae.analysis.figures import save
from personae.runs import write_json


class Analysis(ABC):
    """What was found; ``name`` is that of its files."""

    name: ClassVar[str]

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""

    @abstractmethod
    def figures(self) -> Mapping[str, Any]:
        """matplotlib figures by the names of their files."""


def write(out: Path, analysis: Analysis) -> list[Path]:
    """Write ``<name>.json`` and every picture as PNG and SVG to ``out``; return the paths."""
    paths = [write_json(out / f"{analysis.name}.json", analysis.as_dict())]
    for name, figure in analysis.figures().items():
        paths += save(figure, out, name)
    return paths
