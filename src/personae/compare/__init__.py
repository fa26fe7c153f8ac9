"""Comparison: recipes trained on one budget with several seeds, scored on the same data, in one table.

Each recipe, on each fraction of its data, with each seed is a run of its own under the comparison's folder; what is
finished is never done again. ``make_plan``, ``run_cells``, ``make_comparison`` and ``write_comparison`` are the four
steps of it.
"""

from collections.abc import Sequence
from pathlib import Path

from personae.compare.comparison import Comparison, make_comparison, sort_rows
from personae.compare.grid import Cell, Plan, make_plan
from personae.compare.latex import latex
from personae.compare.plot import draw
from personae.compare.pool import run_cells
from personae.compare.record import write_record
from personae.compare.text import choose_metrics, markdown
from personae.compare.tidy import tidy
from personae.runs import write_json

__all__ = [
    "Cell",
    "Comparison",
    "Plan",
    "choose_metrics",
    "make_comparison",
    "make_plan",
    "run_cells",
    "sort_rows",
    "write_comparison",
    "write_record",
]


def write_comparison(out: Path, comparison: Comparison, metrics: Sequence[str]) -> list[Path]:
    """Write the tables and pictures of ``comparison`` to ``out``; return their paths.

    ``table.json`` and ``table.csv`` have every metric, ``table.md``, ``table.tex`` and the pictures ``metrics``.
    """
    texts = {
        "table.md": markdown(comparison, metrics),
        "table.tex": latex(comparison, metrics),
        "table.csv": tidy(comparison),
    }
    written = [write_json(out / "table.json", comparison.as_dict())]
    for name, text in texts.items():
        fresh = out / f"{name}.new"
        fresh.write_text(text, encoding="utf-8")
        written.append(fresh.replace(out / name))
    return [*written, *draw(comparison, metrics, out)]
