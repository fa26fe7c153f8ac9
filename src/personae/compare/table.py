"""What came out of a comparison: means over seeds, their intervals, and paired differences to one recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from personae.metrics.bootstrap import LEVEL, Interval

ALPHA = round(1 - LEVEL, 4)


@dataclass(frozen=True)
class Mean:
    """A metric of one recipe: the mean over its seeds.

    ``interval``: 95 % by conversation, for these seeds; ``seeds``: the value of each; ``deviation``: standard
    deviation between seeds, n - 1 in the denominator (None: one seed).
    """

    value: float
    interval: Interval
    signature: str
    seeds: Mapping[int, float] = field(default_factory=dict)
    deviation: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = {"value": self.value, "interval": self.interval, "deviation": self.deviation}
        return {**plain, "seeds": {str(seed): value for seed, value in self.seeds.items()}, "signature": self.signature}


@dataclass(frozen=True)
class Difference:
    """What the mean of a recipe has over that of another, by paired conversations.

    ``interval``: 95 %, of this difference alone; ``p``: two-sided (see ``Metric.paired``), ``p_holm``: the same
    corrected for the whole family, all differences of one metric on one data set; ``effect``: Cohen's d_z.
    """

    value: float
    interval: Interval
    signature: str
    p: float | None = None
    p_holm: float | None = None
    effect: float | None = None

    @property
    def inside_the_noise(self) -> bool | None:
        """Whether the family's test leaves it to chance at 5 % (None: there is no test)."""
        return None if self.p_holm is None else self.p_holm >= ALPHA

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = {"value": self.value, "interval": self.interval, "p": self.p, "p_holm": self.p_holm}
        return {
            **{**plain, "effect": self.effect},
            **{"inside_the_noise": self.inside_the_noise, "signature": self.signature},
        }


@dataclass(frozen=True)
class Sheet:
    """One data set: means by row and metric, floors, and differences to the recipe ``against``.

    A row is a recipe, or a recipe at a fraction of its training data; it is compared at the same fraction.
    """

    data: Mapping[str, Any]
    means: Mapping[str, Mapping[str, Mean]]
    floors: Mapping[str, Mapping[str, Mean]]
    differences: Mapping[str, Mapping[str, Difference]]
    against: str
    notes: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        """Everything that was measured."""
        return list(dict.fromkeys(name for means in self.means.values() for name in means))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "data": dict(self.data),
            "means": plain(self.means),
            "floors": plain(self.floors),
            "differences": {"against": self.against, "to": plain(self.differences)},
            "notes": list(self.notes),
        }


def plain(rows: Mapping[str, Mapping[str, Mean | Difference]]) -> dict[str, Any]:
    """Rows of means or differences as dicts."""
    return {row: {name: each.as_dict() for name, each in columns.items()} for row, columns in rows.items()}
