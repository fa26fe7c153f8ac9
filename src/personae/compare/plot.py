"""A comparison as pictures, for each metric: bars with intervals, quality against cost, and against fractions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from personae.compare.cells import arrowed
from personae.compare.comparison import Comparison
from personae.compare.cost import cost_picture
from personae.compare.curve import fraction_picture
from personae.compare.style import BLUE, GREY, KINDS, reach, save
from personae.compare.table import Mean, Sheet

ROW, WIDTH = 0.4, 5.0

Picture = Callable[[str, Comparison], Any]


def draw(comparison: Comparison, metrics: Sequence[str], folder: Path) -> list[Path]:
    """Write the pictures of every metric that was measured into ``folder``, as PNG and SVG; return the paths.

    ``<metric>``: bars; ``<metric>-by-cost``: against parameters and seconds; with fractions also
    ``<metric>-by-fraction``.
    """
    kinds: dict[str, Picture] = {"": bar_picture}
    if len(comparison.trained) > 1:
        kinds["-by-cost"] = cost_picture
    if len({each.fraction for each in comparison.trained.values()}) > 1:
        kinds["-by-fraction"] = fraction_picture
    drawn = []
    for metric in metrics:
        if any(metric in sheet.metrics for sheet in comparison.sheets.values()):
            for end, picture in kinds.items():
                figure = picture(metric, comparison)
                drawn += [save(figure, folder / f"{metric}{end}.{kind}") for kind in KINDS]
    return drawn


def bar_picture(metric: str, comparison: Comparison) -> Any:
    """One panel for each data set; a dot is one seed. Of several fractions the largest."""
    from matplotlib.figure import Figure  # heavy, and only needed here

    sheets = {name: sheet for name, sheet in comparison.sheets.items() if metric in sheet.metrics}
    largest = max(each.fraction for each in comparison.trained.values())
    shown = {name: bars(metric, sheet, comparison, largest) for name, sheet in sheets.items()}
    figure = Figure(figsize=(WIDTH * len(sheets), 1.2 + ROW * max(map(len, shown.values()))), layout="constrained")
    for number, (name, sheet) in enumerate(sheets.items(), 1):
        title = f"{name}, fraction {largest:g}" if comparison.fractions else name
        axes = figure.add_subplot(1, len(sheets), number, title=title, xlabel=arrowed(metric))
        panel(axes, shown[name], sheet)
    return figure


def panel(axes: Any, shown: Mapping[str, Mean], sheet: Sheet) -> None:
    """Bars from top to bottom: recipes, then floors in grey."""
    for row, (name, mean) in enumerate(shown.items()):
        axes.barh(row, mean.value, color=GREY if name in sheet.floors else BLUE)
        if mean.interval is not None:
            low, high = reach(mean.value, mean.interval)
            axes.errorbar(mean.value, row, xerr=[[low], [high]], color="black", capsize=3)
        if len(mean.seeds) > 1:
            axes.plot(list(mean.seeds.values()), [row] * len(mean.seeds), "k.", markersize=4)
    axes.set_yticks(range(len(shown)), list(shown))
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)


def bars(metric: str, sheet: Sheet, comparison: Comparison, fraction: float) -> dict[str, Mean]:
    """Name and mean of every recipe at ``fraction`` and of every floor that has the metric."""
    rows = {
        comparison.trained[row].name: means
        for row, means in sheet.means.items()
        if comparison.trained[row].fraction == fraction
    }
    return {name: means[metric] for name, means in {**rows, **sheet.floors}.items() if metric in means}
