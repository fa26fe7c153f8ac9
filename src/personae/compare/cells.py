"""The cells of a comparison's tables: means, differences and numbers as text."""

import math
from collections.abc import Sequence

from personae.compare.table import Difference, Mean
from personae.metrics import Metric

NOISE = "inside the noise"
UNLIKE = "not comparable"
NOTHING = "-"


def arrowed(metric: str) -> str:
    """A metric's name with the direction that is better, if one is."""
    better = Metric.get(metric).higher_is_better
    return metric if better is None else f"{metric} {'↑' if better else '↓'}"


def span(numbers: Sequence[int | None]) -> str:
    """One number where all are equal, else the least and the greatest; a dash where one is not known."""
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return "-"
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def mean_text(mean: Mean | None) -> str:
    """A mean with its interval and its deviation: ``0.2500 [0.230, 0.270] ± 0.011``."""
    if mean is None:
        return "-"
    whole = len(str(int(abs(mean.value)))) if 1 <= abs(mean.value) < math.inf else 0
    places = max(0, 4 - whole)
    spread = "" if mean.deviation is None else f" ± {mean.deviation:,.{decimals(mean.deviation, 2)}f}"
    return f"{mean.value:,.{places}f}{bounds(mean.interval, max(0, places - 1))}{spread}"


def difference_text(difference: Difference | None) -> str:
    """A difference with its interval, three digits of the largest, its corrected p, its effect, and the verdict."""
    if difference is None:
        return UNLIKE
    places = decimals(max(map(abs, (difference.value, *(difference.interval or ())))), 3)
    interval = bounds(difference.interval, places, "+") or ", no interval"
    effect = "" if difference.effect is None else f", d {difference.effect:+.2f}"
    mark = {True: f", {NOISE}", False: "", None: ""}[difference.inside_the_noise]
    return f"{difference.value:+,.{places}f}{interval}, {p_text(difference.p_holm)}{effect}{mark}"


def p_text(p: float | None) -> str:
    """``p 0.034``, ``p < 0.001``, or that there is no test."""
    if p is None:
        return "no test"
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def decimals(value: float, digits: int) -> int:
    """Decimals that show so many ``digits`` of ``value``, 12 at most."""
    if not value or not math.isfinite(value):
        return 0
    return min(12, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def bounds(interval: tuple[float, float] | None, places: int, sign: str = "") -> str:
    """An interval in brackets."""
    if interval is None:
        return ""
    low, high = (f"{bound:{sign},.{places}f}" for bound in interval)
    return f" [{low}, {high}]"
