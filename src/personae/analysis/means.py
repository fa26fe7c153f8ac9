"""Means with intervals by conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from personae.metrics.bootstrap import Floats, Interval, bootstrap_ratio


@dataclass(frozen=True)
class Mean:
    """A mean and its 95 % interval; None with fewer than two conversations, or where it is no estimate."""

    value: float
    interval: Interval = None

    @property
    def low(self) -> float:
        """The lower bound, or the value."""
        return self.value if self.interval is None else self.interval[0]

    @property
    def high(self) -> float:
        """The upper bound, or the value."""
        return self.value if self.interval is None else self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; a value of nothing is None."""
        return {"value": None if self.value != self.value else self.value, "interval": self.interval}


def mean_of(numerators: Floats, denominators: Floats, groups: Sequence[str]) -> Mean:
    """Sum of ``numerators`` (N,) / sum of ``denominators`` (N,), drawn by ``groups``; NaN where there is nothing."""
    total = float(denominators.sum())
    value = float(numerators.sum()) / total if total else float("nan")
    return Mean(value, bootstrap_ratio(numerators, denominators, groups))
