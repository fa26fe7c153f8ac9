"""The low-resource curve: a metric against the share of the training data, one line for each recipe."""

import math
from typing import Any

from personae.compare.cells import arrowed
from personae.compare.comparison import Comparison
from personae.compare.style import GREY, look, reach
from personae.compare.table import Mean, Sheet

WIDTH, HEIGHT, LEGEND_WIDTH, LEGEND_ROW = 4.8, 3.6, 2.6, 0.19
DODGE = 0.012  # of the axis, between the points of neighbouring recipes: intervals must not hide each other
ROOMY = 12  # recipes that have room beside each other


def fraction_picture(metric: str, comparison: Comparison) -> Any:
    """One panel for each data set; intervals by conversation, floors as dotted lines."""
    from matplotlib.figure import Figure  # heavy, and only needed here

    sheets = {name: sheet for name, sheet in comparison.sheets.items() if metric in sheet.metrics}
    names = list(dict.fromkeys(each.name for each in comparison.trained.values()))
    height = max(HEIGHT, 1.2 + LEGEND_ROW * (len(names) + 2))
    figure = Figure(figsize=(WIDTH * len(sheets) + LEGEND_WIDTH, height), layout="constrained")
    label = f"fraction of the training data ({comparison.sample})"
    for number, (name, sheet) in enumerate(sheets.items(), 1):
        axes = figure.add_subplot(1, len(sheets), number, title=name, xlabel=label, ylabel=arrowed(metric))
        _panel(axes, metric, sheet, comparison, names)
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    unique = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    figure.legend(list(unique.values()), list(unique), loc="outside right upper", fontsize="small")
    return figure


def _panel(axes: Any, metric: str, sheet: Sheet, comparison: Comparison, names: list[str]) -> None:
    axes.set_xscale("log")
    for number, name in enumerate(names):
        points = _points(metric, sheet, comparison, name)
        shift = (number - (len(names) - 1) / 2) * min(DODGE, DODGE * ROOMY / len(names))
        xs = [fraction * math.exp(shift * _span(comparison)) for fraction, _ in points]
        reaches = [reach(mean.value, mean.interval) for _, mean in points]
        ys = [mean.value for _, mean in points]
        axes.errorbar(xs, ys, list(zip(*reaches, strict=True)), label=name, capsize=2, markersize=4, **look(number))
    for name, means in sheet.floors.items():
        if metric in means:
            axes.axhline(means[metric].value, color=GREY, linestyle=":", zorder=0)
            axes.annotate(
                name, (0.01, means[metric].value), xycoords=("axes fraction", "data"), fontsize=6, color="grey"
            )
    axes.set_xticks(comparison.fractions, [f"{fraction:g}" for fraction in comparison.fractions])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def _points(metric: str, sheet: Sheet, comparison: Comparison, name: str) -> list[tuple[float, Mean]]:
    """Fraction and mean of a recipe's rows, the smallest fraction first."""
    found = [
        (comparison.trained[row].fraction, means[metric])
        for row, means in sheet.means.items()
        if metric in means and comparison.trained[row].name == name
    ]
    return sorted(found, key=lambda point: point[0])


def _span(comparison: Comparison) -> float:
    """The width of the axis in e-folds."""
    return math.log(max(comparison.fractions) / min(comparison.fractions))
