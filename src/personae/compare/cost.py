"""Quality against cost: a metric against parameters and training seconds, each point with its name beside the panel."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from personae.compare.cells import arrowed
from personae.compare.comparison import Comparison
from personae.compare.style import look, reach
from personae.compare.table import Mean, Sheet
from personae.compare.trained import Trained

WIDTH, HEIGHT, ROW = 6.4, 3.2, 0.17  # inches; a row is one name
FONT = 7
MARGIN = 1.03  # where names begin, in widths of the panel


def cost_picture(metric: str, comparison: Comparison) -> Any:
    """A row of panels for each data set, a panel for each cost that is known; names stand at the right."""
    from matplotlib.figure import Figure  # heavy, and only needed here

    sheets = {name: sheet for name, sheet in comparison.sheets.items() if metric in sheet.metrics}
    height = max(HEIGHT, 1.0 + ROW * len(comparison.trained))
    figure = Figure(figsize=(2 * WIDTH, height * len(sheets)), layout="constrained")
    for row, (name, sheet) in enumerate(sheets.items()):
        for column, (label, costs) in enumerate(all_costs(comparison.trained).items()):
            place = 2 * row + column + 1
            axes = figure.add_subplot(len(sheets), 2, place, title=name, xlabel=label, ylabel=arrowed(metric))
            _panel(axes, metric, sheet, costs)
    return figure


def all_costs(trained: Mapping[str, Trained]) -> dict[str, dict[str, float]]:
    """What every row cost, by what is counted."""
    seconds = {row: each.seconds for row, each in trained.items() if each.seconds is not None}
    return {
        "parameters": {row: fmean(each.parameters.values()) for row, each in trained.items()},
        "seconds of training": seconds,
    }


def _panel(axes: Any, metric: str, sheet: Sheet, costs: Mapping[str, float]) -> None:
    from matplotlib.ticker import EngFormatter

    points = {
        row: (costs[row], means[metric]) for row, means in sheet.means.items() if row in costs and metric in means
    }
    looks = {row: {**look(number), "linestyle": "none"} for number, row in enumerate(sheet.means)}
    for row, (cost, mean) in points.items():
        low, high = reach(mean.value, mean.interval)
        axes.errorbar(cost, mean.value, [[low], [high]], capsize=2, markersize=5, **looks[row])
    axes.grid(alpha=0.3)
    if points:
        xs = [cost for cost, _ in points.values()]
        if max(xs) > 10 * max(min(xs), 1e-9):
            axes.set_xscale("log")
        axes.margins(x=0.08)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        _name(axes, points, {row: each["color"] for row, each in looks.items()})


def _name(axes: Any, points: Mapping[str, tuple[float, Mean]], colours: Mapping[str, str]) -> None:
    """Names at the right in the order of the values, each with a thin line to its point."""
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top)
    heights = {row: (mean.value - bottom) / (top - bottom) for row, (_, mean) in points.items()}
    gap = FONT * 1.25 / 72 / max(HEIGHT - 1.0, ROW * len(points))
    order = sorted(points, key=lambda row: heights[row])
    for row, height in zip(order, spread([heights[row] for row in order], gap), strict=True):
        cost, mean = points[row]
        axes.annotate(
            row,
            xy=(cost, mean.value),
            xytext=(MARGIN, height),
            textcoords="axes fraction",
            color=colours[row],
            fontsize=FONT,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colours[row], "linewidth": 0.4, "alpha": 0.6, "shrinkA": 0},
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """``heights``, in rising order, moved as little as it takes to stand ``gap`` apart and, if they can, in [0, 1]."""
    groups: list[tuple[float, int]] = []  # centre and size of heights that stand side by side
    for height in heights:
        groups.append((height, 1))
        while len(groups) > 1 and _touch(groups[-2], groups[-1], gap):
            (one, first), (other, second) = groups[-2:]
            groups[-2:] = [((one * first + other * second) / (first + second), first + second)]
    placed = [centre + gap * (at - (size - 1) / 2) for centre, size in groups for at in range(size)]
    return _inside(placed, gap)


def _touch(one: tuple[float, int], other: tuple[float, int], gap: float) -> bool:
    return other[0] - one[0] < gap * (one[1] + other[1]) / 2


def _inside(placed: list[float], gap: float) -> list[float]:
    """Pushed down from 1, then up from 0."""
    for at in reversed(range(len(placed))):
        placed[at] = min(placed[at], placed[at + 1] - gap if at + 1 < len(placed) else 1.0)
    for at in range(len(placed)):
        placed[at] = max(placed[at], placed[at - 1] + gap if at else 0.0)
    assert all(high - low > gap * 0.999 for low, high in pairwise(placed))
    return placed
