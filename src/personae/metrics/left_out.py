"""Metrics whose interval comes from leaving out one conversation at a time."""

from collections.abc import Sequence

import numpy as np

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats, Interval, jackknife_interval
from personae.metrics.paired import NORMAL, Paired, jackknife_normal, standardised
from personae.metrics.reply import Reply


class LeftOut(Metric):
    """A metric of what all replies say together, which drawing with replacement would bias: no references needed.

    Its tallies give ``by_conversation`` (G, 1): the value without each conversation.
    """

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Always: references are not asked for."""
        return True

    def interval(
        self, names: Sequence[str], value: float, runs: Sequence[Floats], less: Sequence[Floats] = ()
    ) -> Interval:
        """See ``Metric.interval``: the jackknife of the mean or difference."""
        left_out = np.mean(runs, axis=0)[:, 0] - (np.mean(less, axis=0)[:, 0] if less else 0.0)
        return jackknife_interval(value, left_out)

    def paired(self, value: float, runs: Sequence[Floats], less: Sequence[Floats]) -> Paired:
        """See ``Metric.paired``: the normal test by the jackknife's standard error, as the interval."""
        left_out = np.mean(runs, axis=0)[:, 0] - np.mean(less, axis=0)[:, 0]
        return Paired(jackknife_normal(value, left_out), standardised(value, left_out), NORMAL)
