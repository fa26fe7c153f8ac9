"""Distinct n-grams over the whole corpus, with a jackknife interval.

Shapes: N replies of a chunk, G conversations.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from personae.metrics.base import Metric, Tally
from personae.metrics.bootstrap import JACKKNIFE, Floats, Interval, jackknife_interval
from personae.metrics.checks import require_replies
from personae.metrics.normalize import normalized_tokens
from personae.metrics.paired import NORMAL, Paired, jackknife_normal, standardised
from personae.metrics.reply import Reply, Score
from personae.metrics.sample import Chunk, Sample, Sums
from personae.metrics.signature import sample_signature
from personae.metrics.types import Types


class Distinct(Metric):
    """Distinct n-grams / units over all replies in %; falls as a corpus grows: compare at equal ``n``.

    The units are the n-grams themselves; a published definition that divides by something else is a subclass
    of its own, with ``tokens``, ``units`` and ``fields``.
    """

    order: ClassVar[int]

    @classmethod
    def applies(cls, replies: Sequence[Reply]) -> bool:
        """Always: references are not asked for."""
        return True

    def tokens(self, chunk: Chunk) -> list[list[str]]:
        """The words of every prediction."""
        return chunk.predictions(normalized_tokens)

    def units(self, words: Sequence[str]) -> int:
        """What a prediction of ``words`` adds to the denominator."""
        return max(0, len(words) - self.order + 1)

    def fields(self) -> Mapping[str, object]:
        """What the signature says of words and units."""
        return {"norm": "parlai", "per": f"{self.order}-gram"}

    def tally(self, sample: Sample) -> "DistinctTally":
        """An empty tally."""
        return DistinctTally(self, sample)

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


class DistinctTally(Tally):
    """The distinct n-grams, and by conversation how many are its own and how many units it said."""

    def __init__(self, metric: Distinct, sample: Sample) -> None:
        self.metric, self.sample = metric, sample
        self.types, self.said = Types(sample), Sums(sample, 1)

    def add(self, chunk: Chunk) -> None:
        """Note the n-grams of ``chunk``."""
        words = self.metric.tokens(chunk)
        hashes = [list(hashed_grams(each, self.metric.order)) for each in words]
        rows = np.repeat(chunk.rows, [len(each) for each in hashes])
        self.types.add(np.array([one for each in hashes for one in each], np.int64), rows)
        self.said.add(chunk, [self.metric.units(each) for each in words])

    def score(self) -> Score:
        """Distinct n-grams / units; without any unit the value is 0."""
        require_replies(self.metric.name, self.sample)
        total = self.said.values().sum()
        value = float(100 * len(self.types) / total) if total else 0.0
        fields = {**self.metric.fields(), "grams": int(total), "ci": JACKKNIFE}
        return Score(value, sample_signature(self.metric.name, self.sample, **fields), self._interval(value))

    def by_conversation(self) -> Floats | None:
        """The value without each conversation (G, 1); one that said nothing changes nothing (None: fewer than two)."""
        said, own = self.said.values()[:, 0], self.types.own()
        total, speaking = said.sum(), said > 0
        if speaking.sum() < 2:
            return None
        left_out = np.full(len(said), 100 * len(self.types) / total)
        np.divide(100.0 * (len(self.types) - own), total - said, out=left_out, where=speaking)
        return left_out[:, None]

    def _interval(self, value: float) -> Interval:
        """By the conversations that said anything."""
        left_out = self.by_conversation()
        if left_out is None:
            return None
        interval = jackknife_interval(value, left_out[self.said.values()[:, 0] > 0, 0])
        return interval and (max(0.0, interval[0]), min(100.0, interval[1]))


def hashed_grams(words: Sequence[str], order: int) -> Iterator[int]:
    """64-bit hashes of the n-grams of ``words``."""
    return map(hash, zip(*(words[start:] for start in range(order)), strict=False))


@Metric.register("dist1")
class DistinctUnigrams(Distinct):
    """Distinct words / words over all replies in %, ParlAI-normalised."""

    order = 1


@Metric.register("dist2")
class DistinctBigrams(Distinct):
    """Distinct word pairs / word pairs over all replies in %, ParlAI-normalised; never divided by words."""

    order = 2
