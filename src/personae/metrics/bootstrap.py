"""95 % intervals drawn by conversation: turns of one conversation are not independent.

Shapes: N replies, G conversations, K statistics per reply, R resamples.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Interval = tuple[float, float] | None
Floats = npt.NDArray[np.float64]
Combine = Callable[[Floats], Floats]

RESAMPLES = 1000
LEVEL = 0.95
BOOTSTRAP = f"conversation-bootstrap-{RESAMPLES}-seed-0"
JACKKNIFE = "conversation-jackknife"
_DRAWS_AT_ONCE = 1 << 20


def bootstrap(
    statistics: npt.ArrayLike,
    groups: Sequence[str],
    combine: Combine,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the 95 % percentile interval of ``combine(summed statistics)``.

    ``statistics`` (N, K) are sufficient statistics, summed within each of the ``groups`` (N names) before
    whole groups are drawn with replacement. ``combine`` maps sums (R, K) to values (R,); a NaN marks a
    resample for which the metric is undefined and is left out. None with fewer than two groups: nothing to
    draw from. Widened to the value itself where rounding or the bias of a tiny sample leaves it outside.
    """
    sums = group_sums(statistics, groups)
    if len(sums) < 2:
        return None
    values = np.concatenate([combine(counts @ sums) for counts in _counts(len(sums), resamples, seed)])
    value = combine(sums.sum(axis=0, keepdims=True))[0]
    return _percentiles(values[~np.isnan(values)], float(value))


def bootstrap_ratio(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    groups: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the 95 % percentile interval of ``sum(numerators) / sum(denominators)``, drawn by group.

    A mean over replies is the ratio with ones as denominators. See ``bootstrap``.
    """
    pairs = np.stack([np.asarray(numerators, float), np.asarray(denominators, float)], axis=1)
    return bootstrap(pairs, groups, ratio, resamples, seed)


def ratio(sums: Floats) -> Floats:
    """Map sums (R, 2) to numerator / denominator (R,); NaN where the denominator is 0."""
    values = np.full(len(sums), np.nan)
    np.divide(sums[:, 0], sums[:, 1], out=values, where=sums[:, 1] != 0)
    return values


def group_sums(statistics: npt.ArrayLike, groups: Sequence[str]) -> Floats:
    """Sum the rows of ``statistics`` (N, K) by group: (G, K), groups in sorted order."""
    rows = np.asarray(statistics, float)
    if len(rows) != len(groups):
        raise ValueError(f"{len(rows)} rows of statistics but {len(groups)} groups")
    number = {name: position for position, name in enumerate(sorted(set(groups)))}
    sums = np.zeros((len(number), rows.shape[1]))
    np.add.at(sums, [number[name] for name in groups], rows)
    return sums


def jackknife_interval(value: float, leave_one_out_values: npt.ArrayLike) -> Interval:
    """Return value -+ 1.96 standard errors by the delete-one-conversation jackknife (Efron and Stein 1981).

    For metrics that resampling with replacement biases, such as counts of distinct n-grams.
    ``leave_one_out_values`` (G,) are the metric without each conversation; None with fewer than two.
    """
    left_out = np.asarray(leave_one_out_values, float)
    size = len(left_out)
    if size < 2:
        return None
    error = np.sqrt((size - 1) / size * np.square(left_out - left_out.mean()).sum())
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * float(error)
    return value - half, value + half


def _counts(size: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each of ``size`` groups is drawn: chunks of (R, size), so that memory stays flat."""
    generator = np.random.default_rng(seed)
    step = max(1, _DRAWS_AT_ONCE // size)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(size, size=(rows, size)) + size * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)


def _percentiles(values: Floats, value: float) -> Interval:
    """Return the outer order statistics that hold the middle 95 % of ``values``, and ``value``."""
    if not len(values) or np.isnan(value):
        return None
    ordered, last, tail = np.sort(values), len(values) - 1, (1 - LEVEL) / 2
    low, high = ordered[int(np.floor(tail * last))], ordered[int(np.ceil((1 - tail) * last))]
    return min(float(low), value), max(float(high), value)
