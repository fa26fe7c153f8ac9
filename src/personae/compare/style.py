"""What the pictures of a comparison have in common: colours that colour-blind readers can tell apart, and files."""

from pathlib import Path
from typing import Any

# Okabe and Ito's palette without its yellow, which is too pale for lines on white.
BLUE, GREY = "#56b4e9", "#bbbbbb"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")
KINDS = ("png", "svg")


def look(number: int) -> dict[str, Any]:
    """Colour, marker and line of the ``number``-th recipe: none of 7 x 4 is like another, also without colour."""
    turn = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + turn) % len(MARKERS)],
        "linestyle": LINES[turn % len(LINES)],
    }


def reach(value: float, interval: tuple[float, float] | None) -> tuple[float, float]:
    """How far an interval reaches below and above ``value``; 0 where there is none."""
    low, high = interval or (value, value)
    return max(0.0, value - low), max(0.0, high - value)


def save(figure: Any, path: Path) -> Path:
    """Write the picture whole or not at all; the same numbers give the same bytes."""
    from matplotlib import rc_context

    fresh = path.with_name(f"{path.name}.new")
    with rc_context({"svg.hashsalt": "personae"}):
        stable = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(fresh, dpi=150, format=path.suffix[1:], metadata=stable)
    return fresh.replace(path)
