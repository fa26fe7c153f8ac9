"""Comparison: recipes trained on one budget with several seeds, scored on the same data, in one table.

Each recipe with each seed is a run of its own under the comparison's folder; what is finished is never done
again. ``make_plan``, ``run_cells``, ``make_comparison`` and ``write_comparison`` are the four steps of it.
"""

from collections.abc import Sequence
from pathlib import Path

from personae.compare.comparison import Comparison, make_comparison
from personae.compare.grid import Cell, Plan, make_plan
from personae.compare.plot import draw
from personae.compare.pool import run_cells
from personae.compare.record import write_record
from personae.compare.text import choose_metrics, markdown
from personae.runs import write_json

__all__ = [
    "Cell",
    "Comparison",
    "Plan",
    "choose_metrics",
    "make_comparison",
    "make_plan",
    "run_cells",
    "write_comparison",
    "write_record",
]


def write_comparison(out: Path, comparison: Comparison, metrics: Sequence[str]) -> list[Path]:
    """Write ``table.json`` (everything), ``table.md`` and pictures (``metrics`` only) to ``out``; return the paths."""
    table = write_json(out / "table.json", comparison.as_dict())
    fresh = out / "table.md.new"
    fresh.write_text(markdown(comparison, metrics), encoding="utf-8")
    return [table, fresh.replace(out / "table.md"), *draw(comparison, metrics, out)]
