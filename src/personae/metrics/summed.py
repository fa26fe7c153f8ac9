"""Metrics that are a value of sums: statistics of each reply, added up by conversation.

Shapes: N replies of a chunk, G conversations, K statistics, R resamples.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from personae.metrics.base import Metric, Tally
from personae.metrics.bootstrap import BOOTSTRAP, Floats, Interval, bootstrap, ratio
from personae.metrics.checks import require_references, require_replies
from personae.metrics.paired import RANDOMISATION, Paired, randomisation, standardised
from personae.metrics.reply import Reply, Score
from personae.metrics.sample import Chunk, Sample, Sums
from personae.metrics.signature import sample_signature


class Summed(Metric):
    """A metric of sums over replies; most are a mean, whose two statistics are a value and 1."""

    width: ClassVar[int] = 2
    needs_references: ClassVar[bool] = True

    @abstractmethod
    def statistics(self, chunk: Chunk) -> npt.ArrayLike:
        """Statistics (N, K) of the replies of ``chunk``."""

    def combine(self, sums: Floats) -> Floats:
        """Values (R,) of sums (R, K); NaN where the metric is undefined."""
        return ratio(sums)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """What the signature says beside the sample and the interval; ``sums`` (K) are those of all replies."""
        return {}

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether the references are there, if it needs any."""
        return not self.needs_references or super().applies(replies)

    def tally(self, sample: Sample) -> "SumTally":
        """An empty tally."""
        return SumTally(self, sample)

    def interval(
        self, names: Sequence[str], value: float, runs: Sequence[Floats], less: Sequence[Floats] = ()
    ) -> Interval:
        """See ``Metric.interval``: a bootstrap by conversation."""
        sides = [*runs, *less]
        width = sides[0].shape[1]

        def difference(sums: Floats) -> Floats:
            values = [self.combine(sums[:, at * width : (at + 1) * width]) for at in range(len(sides))]
            with np.errstate(invalid="ignore"):
                mean = np.mean(values[: len(runs)], axis=0)
                return np.asarray(mean - np.mean(values[len(runs) :], axis=0) if less else mean)

        return bootstrap(np.concatenate(sides, axis=1), names, difference)

    def paired(self, value: float, runs: Sequence[Floats], less: Sequence[Floats]) -> Paired:
        """See ``Metric.paired``: approximate randomisation; the runs of a side are averaged before it combines."""

        def left_out(sides: Sequence[Floats]) -> Floats:
            return np.asarray(np.mean([self.combine(each.sum(axis=0) - each) for each in sides], axis=0))

        with np.errstate(invalid="ignore"):  # what is infinite on both sides has no difference
            p = randomisation(np.mean(runs, axis=0), np.mean(less, axis=0), self.combine)
            return Paired(p, standardised(value, left_out(runs) - left_out(less)), RANDOMISATION)


class SumTally(Tally):
    """Sums by conversation."""

    def __init__(self, metric: Summed, sample: Sample) -> None:
        self.metric, self.sample = metric, sample
        self.sums = Sums(sample, metric.width)

    def add(self, chunk: Chunk) -> None:
        """Add the statistics of ``chunk``."""
        if self.metric.needs_references:
            require_references(self.metric.name, chunk)
        self.sums.add(chunk, self.metric.statistics(chunk))

    def score(self) -> Score:
        """The value of all sums, with a bootstrap interval."""
        require_replies(self.metric.name, self.sample)
        sums = self.by_conversation()
        total = sums.sum(axis=0)
        value = float(self.metric.combine(total[None])[0])
        interval = bootstrap(sums, self.sample.names, self.metric.combine)
        fields = {**self.fields(total), "ci": BOOTSTRAP}
        return Score(value, sample_signature(self.metric.name, self.sample, **fields), interval)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """See ``Summed.fields``; a tally may know more than sums (K) do."""
        return self.metric.fields(sums)

    def by_conversation(self) -> Floats:
        """The sums (G, K)."""
        return self.sums.values()
