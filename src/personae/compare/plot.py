"""A comparison as pictures: bars with intervals, one picture per metric, one panel per data set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from personae.compare.comparison import Comparison
from personae.compare.table import Mean, Sheet
from personae.compare.text import arrowed

# Blue and grey of Okabe and Ito's palette, which colour-blind readers can tell apart.
RECIPE, FLOOR = "#56b4e9", "#bbbbbb"
KINDS = ("png", "svg")
ROW, WIDTH = 0.4, 5.0


def draw(comparison: Comparison, metrics: Sequence[str], folder: Path) -> list[Path]:
    """Write ``<metric>.png`` and ``.svg`` into ``folder`` for every metric that was measured; return the paths."""
    drawn = []
    for metric in metrics:
        sheets = {name: sheet for name, sheet in comparison.sheets.items() if metric in sheet.metrics}
        if sheets:
            figure = picture(metric, sheets)
            drawn += [_save(figure, folder / f"{metric}.{kind}") for kind in KINDS]
    return drawn


def picture(metric: str, sheets: dict[str, Sheet]) -> Any:
    """One panel for each of ``sheets``; a dot is one seed."""
    from matplotlib.figure import Figure  # heavy, and only needed here

    most = max(len(bars(metric, sheet)) for sheet in sheets.values())
    figure = Figure(figsize=(WIDTH * len(sheets), 1.2 + ROW * most), layout="constrained")
    for number, (name, sheet) in enumerate(sheets.items(), 1):
        axes = figure.add_subplot(1, len(sheets), number, title=name, xlabel=arrowed(metric))
        panel(axes, metric, sheet)
    return figure


def panel(axes: Any, metric: str, sheet: Sheet) -> None:
    """Bars from top to bottom: recipes, then floors in grey."""
    shown = bars(metric, sheet)
    for row, (name, mean) in enumerate(shown):
        axes.barh(row, mean.value, color=RECIPE if name in sheet.means else FLOOR)
        if mean.interval is not None:
            low, high = mean.interval
            reach = [[max(0.0, mean.value - low)], [max(0.0, high - mean.value)]]
            axes.errorbar(mean.value, row, xerr=reach, color="black", capsize=3)
        if len(mean.seeds) > 1:
            axes.plot(list(mean.seeds.values()), [row] * len(mean.seeds), "k.", markersize=4)
    axes.set_yticks(range(len(shown)), [name for name, _ in shown])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)


def bars(metric: str, sheet: Sheet) -> list[tuple[str, Mean]]:
    """Name and mean of every row that has the metric."""
    rows = {**sheet.means, **sheet.floors}
    return [(name, means[metric]) for name, means in rows.items() if metric in means]


def _save(figure: Any, path: Path) -> Path:
    """Write the picture whole or not at all; the same numbers give the same bytes."""
    from matplotlib import rc_context

    fresh = path.with_name(f"{path.name}.new")
    with rc_context({"svg.hashsalt": "personae"}):
        stable = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(fresh, dpi=150, format=path.suffix[1:], metadata=stable)
    return fresh.replace(path)
