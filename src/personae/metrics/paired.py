"""Paired tests and effect sizes of the difference between two systems on the same conversations.

Shapes: G conversations, K statistics, R trials.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from personae.metrics.bootstrap import Combine, Floats

TRIALS = 10_000
RANDOMISATION = f"randomisation-by-conversation-{TRIALS}-seed-0"
NORMAL = "jackknife-normal-by-conversation"
_DRAWS_AT_ONCE = 1 << 20
_ROUNDING = 1e-9


class Paired(NamedTuple):
    """How sure and how large a difference is: two-sided ``p``, Cohen's d_z ``effect``, and the name of the ``test``.

    None where it is not defined: fewer than two conversations, or no spread between them.
    """

    p: float | None = None
    effect: float | None = None
    test: str = "none"


def randomisation(one: Floats, other: Floats, combine: Combine) -> float | None:
    """Two-sided p of the difference ``combine(sum of one) - combine(sum of other)``.

    Paired approximate randomisation (Noreen 1989; for corpus-level metrics Riezler and Maxwell 2005): in every
    trial the two systems are exchanged in a random half of the conversations and the metric is computed anew; p is
    (1 + trials at least as far from 0) / (1 + trials). For a mean it is the sign-flip permutation test of the
    differences by conversation. ``one``, ``other`` (G, K): statistics by conversation, in the same order.
    """
    if len(one) < 2:
        return None
    total, gaps = one.sum(axis=0) + other.sum(axis=0), one - other

    def sides(gap: Floats) -> tuple[Floats, Floats]:
        return combine((total + gap) / 2), combine((total - gap) / 2)

    ((first,), (second,)) = sides(gaps.sum(axis=0, keepdims=True))
    if not (math.isfinite(first) and math.isfinite(second)):
        return None
    bar = abs(first - second) - _ROUNDING * max(abs(first), abs(second))
    extreme = 0
    for signs in _signs(len(one)):
        trial = np.subtract(*sides(signs @ gaps))
        extreme += int(np.count_nonzero(~(np.abs(trial) < bar)))  # an undefined trial speaks for chance
    return (1 + extreme) / (1 + TRIALS)


def jackknife_normal(value: float, left_out: npt.ArrayLike) -> float | None:
    """Two-sided p of ``value`` by its delete-one-conversation standard error, as ``jackknife_interval`` has it.

    ``left_out`` (G,): the difference without each conversation. None where that never changes anything.
    """
    spread = deviation(left_out)
    if spread is None or not math.isfinite(value):
        return None
    if spread <= _ROUNDING * abs(value):
        return 1.0 if value == 0 else None
    return math.erfc(abs(value) * math.sqrt(len(np.asarray(left_out))) / spread / math.sqrt(2))


def standardised(value: float, left_out: npt.ArrayLike) -> float | None:
    """Cohen's d_z by conversation: the difference / its standard deviation between conversations.

    That deviation is of the jackknife's pseudo-values, so that it is defined for ratios and corpus-level metrics
    too; for a mean over conversations it is that of the differences themselves, n - 1 in the denominator.
    """
    spread = deviation(left_out)
    if spread is None or not math.isfinite(value):
        return None
    if spread <= _ROUNDING * abs(value):
        return 0.0 if value == 0 else None
    return value / spread


def deviation(left_out: npt.ArrayLike) -> float | None:
    """Standard deviation of the pseudo-values of ``left_out`` (G,); None with fewer than two or an infinite one."""
    values = np.asarray(left_out, float)
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    return float(np.sqrt((len(values) - 1) * np.square(values - values.mean()).sum()))


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of one family, corrected by Holm's (1979) step-down procedure, in the order given."""
    corrected, highest = [0.0] * len(values), 0.0
    for rank, at in enumerate(sorted(range(len(values)), key=lambda at: values[at])):
        highest = max(highest, min(1.0, (len(values) - rank) * values[at]))
        corrected[at] = highest
    return corrected


def _signs(size: int) -> Iterator[Floats]:
    """Yield -1 or 1 for each trial and conversation: chunks of (R, size), so that memory stays flat."""
    step = max(1, _DRAWS_AT_ONCE // size)
    for number, start in enumerate(range(0, TRIALS, step)):
        yield _draw(size, min(step, TRIALS - start), number).astype(np.float64)


@lru_cache(maxsize=32)
def _draw(size: int, rows: int, number: int) -> npt.NDArray[np.int8]:
    """One chunk of signs: the same for every metric and every pair of systems."""
    return 2 * np.random.default_rng([0, number]).integers(0, 2, (rows, size), np.int8) - 1
