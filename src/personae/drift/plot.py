"""Drift as a picture: one panel for each measure, a line with its band for each run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from personae.drift.curve import MEASURES, Curve

# Okabe and Ito's palette, which colour-blind readers can tell apart, and a mark of its own for each line.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = ("o", "s", "^", "D", "v", "P")
TITLE = 34  # characters a line


def draw(curves: Mapping[str, Curve], path: Path) -> Path:
    """Write the picture to ``path`` whole or not at all."""
    from textwrap import fill

    from matplotlib.figure import Figure  # heavy, and only needed here

    names = [name for name in MEASURES if any(name in curve.measures for curve in curves.values())]
    figure = Figure(figsize=(3.6 * len(names), 3.9), layout="constrained")
    for number, name in enumerate(names, 1):
        axes = figure.add_subplot(1, len(names), number, xlabel="turn")
        axes.set_title(fill(MEASURES[name], TITLE), fontsize=10)
        for at, (run, curve) in enumerate(curves.items()):
            line(axes, name, run, curve, at)
        finish(axes, curves)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    fresh = path.with_name(f"{path.name}.new")
    figure.savefig(fresh, dpi=150, format="png")
    return fresh.replace(path)


def line(axes: Any, measure: str, run: str, curve: Curve, at: int) -> None:
    """One run's values with their intervals."""
    points = [point for point in curve.points if measure in point.scores]
    turns = [point.turn for point in points]
    scores = [point.scores[measure] for point in points]
    bounds = [score.interval or (score.value, score.value) for score in scores]
    colour, mark = COLOURS[at % len(COLOURS)], MARKS[at % len(MARKS)]
    axes.fill_between(turns, *zip(*bounds, strict=True), color=colour, alpha=0.18, linewidth=0)
    axes.plot(turns, [score.value for score in scores], color=colour, marker=mark, markersize=4, label=run)


def finish(axes: Any, curves: Mapping[str, Curve]) -> None:
    """Turns on a logarithmic axis, named as they are."""
    turns = [point.turn for point in next(iter(curves.values())).points]
    axes.set_xscale("log")
    axes.set_xticks(turns, [str(turn) for turn in turns])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
