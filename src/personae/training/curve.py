"""The loss curve as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def draw_curve(history: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw training and validation loss, nats per token, over steps into a PNG."""
    from matplotlib.figure import Figure  # heavy, and only needed here

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="nats per token")
    for key, label, style in (("loss", "training", "-"), ("eval_loss", "validation", "o-")):
        points = [(line["step"], line[key]) for line in history if key in line]
        if points:
            axes.plot(*zip(*points, strict=True), style, label=label, markersize=3)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
