"""What the pictures share: colours that colour-blind readers can tell apart, lines over layers, files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from personae.analysis.means import Mean

# Okabe and Ito's palette; markers tell the lines apart where there is no colour.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#0072b2", "#d55e00")
MARKERS = "osD^vP"
GREY = "#777777"
KINDS = ("png", "svg")


def panels(count: int, width: float = 4.6, height: float = 3.4) -> tuple[Any, list[Any]]:
    """A figure of ``count`` panels side by side."""
    from matplotlib.figure import Figure  # heavy, and only needed here

    figure = Figure(figsize=(width * count, height), layout="constrained")
    return figure, [figure.add_subplot(1, count, number) for number in range(1, count + 1)]


def draw_layers(axes: Any, lines: Mapping[str, Sequence[Mean]], label: str, grey: Sequence[str] = ()) -> None:
    """A line over the layers for each of ``lines``, with its intervals; those named in ``grey`` dashed."""
    coloured = [name for name in lines if name not in grey]
    for name, means in lines.items():
        place = coloured.index(name) if name in coloured else 0
        style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        style = {"color": GREY, "marker": "x", "linestyle": "--"} if name in grey else style
        layers, values = range(1, len(means) + 1), [mean.value for mean in means]
        reach = [[mean.value - mean.low for mean in means], [mean.high - mean.value for mean in means]]
        axes.errorbar(layers, values, yerr=reach, capsize=2, markersize=5, label=name, **style)
    most = max((len(means) for means in lines.values()), default=0)
    axes.set_xticks(range(1, most + 1))
    known = any(mean.interval for means in lines.values() for mean in means)
    axes.set_xlabel(f"layer, from the input on{' (bars: 95 % intervals)' if known else ''}")
    axes.set_ylabel(label)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write the picture as PNG and SVG, whole or not at all; the same numbers give the same bytes."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in KINDS:
        fresh = folder / f"{name}.{kind}.new"
        with rc_context({"svg.hashsalt": "personae"}):
            stable = {"Date": None} if kind == "svg" else {}
            figure.savefig(fresh, dpi=150, format=kind, metadata=stable)
        written.append(fresh.replace(folder / f"{name}.{kind}"))
    return written
