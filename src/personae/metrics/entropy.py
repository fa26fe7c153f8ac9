"""Entropy of the n-grams that all replies say together, with a jackknife interval.

Shapes: N replies of a chunk, G conversations, P pairs of a conversation and an n-gram that it has.
"""

import numpy as np

from personae.metrics.base import Metric, Tally
from personae.metrics.bootstrap import JACKKNIFE, Floats, Interval, jackknife_interval
from personae.metrics.checks import require_replies
from personae.metrics.distinct import hashed_grams
from personae.metrics.left_out import LeftOut
from personae.metrics.normalize import words_without_articles
from personae.metrics.reply import Score
from personae.metrics.sample import Chunk, Rows, Sample
from personae.metrics.signature import sample_signature

ORDER = 4
_AT_LEAST = 1 << 18  # mentions gathered before they are merged


@Metric.register("entropy4")
class Entropy4(LeftOut):
    """Entropy in nats of the 4-grams of all replies, lower-cased, without a/an/the; grows with a corpus.

    -sum_g p(g) ln p(g), p(g) the share of 4-gram g (Zhang et al. 2018; normalised as Cao et al. 2020 do): compare
    at equal ``n``. 0 where no reply has four words. The interval is the jackknife by conversation.
    """

    def tally(self, sample: Sample) -> "EntropyTally":
        """An empty tally."""
        return EntropyTally(self, sample)


class EntropyTally(Tally):
    """How often each conversation said each 4-gram: 24 bytes for each such pair, n-grams known by 64-bit hashes."""

    def __init__(self, metric: Entropy4, sample: Sample) -> None:
        self.metric, self.sample = metric, sample
        self._pairs = np.zeros((3, 0), np.int64)  # n-gram, row, count
        self._pending: list[Rows] = []
        self._folded = False

    def add(self, chunk: Chunk) -> None:
        """Note the 4-grams of ``chunk``."""
        self._fold()
        hashes = [list(hashed_grams(words, ORDER)) for words in chunk.predictions(words_without_articles)]
        rows = np.repeat(chunk.rows, [len(each) for each in hashes])
        keys = np.array([one for each in hashes for one in each], np.int64)
        self._pending.append(np.stack([keys, rows, np.ones_like(keys)]))
        if sum(each.shape[1] for each in self._pending) > max(_AT_LEAST, self._pairs.shape[1] // 2):
            self._merge()

    def score(self) -> Score:
        """The entropy; 0 without any 4-gram."""
        require_replies(self.metric.name, self.sample)
        counts, _ = self._counts()
        total = int(counts.sum())
        value = float(np.log(total) - (counts * np.log(counts)).sum() / total) if total else 0.0
        fields = {"norm": "lower-no-articles", "log": "e", "grams": total, "ci": JACKKNIFE}
        return Score(value, sample_signature(self.metric.name, self.sample, **fields), self._interval(value))

    def by_conversation(self) -> Floats | None:
        """The value without each conversation (G, 1); without any 4-gram of its own, it changes nothing."""
        counts, which = self._counts()
        (_, rows, here), size = self._pairs, self.sample.size
        said = np.bincount(rows, here, size)
        if (said > 0).sum() < 2:
            return None
        rest = counts[which] - here
        change = counts[which] * np.log(counts[which]) - rest * np.log(np.maximum(rest, 1))
        weighted = (counts * np.log(counts)).sum() - np.bincount(rows, change, size)
        left = counts.sum() - said
        return np.asarray(np.log(left) - weighted / left)[self.sample.order, None]

    def _interval(self, value: float) -> Interval:
        left_out = self.by_conversation()
        interval = None if left_out is None else jackknife_interval(value, left_out[:, 0])
        return interval and (max(0.0, interval[0]), interval[1])

    def _counts(self) -> tuple[Rows, Rows]:
        """How often each 4-gram was said, and which of them each pair (P) has."""
        self._fold()
        self._merge()
        _, which = np.unique(self._pairs[0], return_inverse=True)
        return np.bincount(which, self._pairs[2]).astype(np.int64), which

    def _merge(self) -> None:
        keys, rows, counts = np.concatenate([self._pairs, *self._pending], axis=1)
        self._pending = []
        order = np.lexsort((rows, keys))
        keys, rows, counts = keys[order], rows[order], counts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]) | np.diff(rows, prepend=~rows[:1]))
        summed = np.add.reduceat(counts, starts) if len(starts) else counts
        self._pairs = np.stack([keys[starts], rows[starts], summed])

    def _fold(self) -> None:
        """Once conversations are drawn in blocks, pairs are by block too."""
        blocks = self.sample.folded
        if blocks is not None and not self._folded:
            self._merge()
            self._pairs[1] = blocks[self._pairs[1]]
            self._folded = True
