"""Metrics that hear the replies twice: what the first time has shown weighs what is counted the second time.

Shapes: N replies of a chunk, T references of them, G conversations, K statistics.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from personae.metrics.bootstrap import Floats
from personae.metrics.checks import require_references
from personae.metrics.grams import Texts
from personae.metrics.sample import Chunk, Rows, Sample
from personae.metrics.summed import Summed, SumTally


class Heard:
    """What is kept of a chunk: words said (N texts), references (T texts), whose they are (T,), and rows (N,)."""

    def __init__(self, said: Texts, golds: Texts, replies: Rows, rows: Rows) -> None:
        self.said, self.golds, self.replies, self.rows = said, golds, replies, rows


class Weights(ABC):
    """What is learnt of the references of all replies."""

    @abstractmethod
    def learn(self, heard: Heard) -> None:
        """Hear the references of one more chunk."""


W = TypeVar("W", bound=Weights)


class Twice(Summed, Generic[W]):
    """A metric of sums whose statistics need all references first.

    Words are kept as eight-byte hashes until the end, so memory grows with the corpus: 16 bytes for each distinct
    n-gram of the references and 8 for each word. Intervals take what was learnt of the references as given.
    """

    cut: Callable[[str], list[str]]  # a static method: the words of a text

    @abstractmethod
    def weights(self) -> W:
        """Weights that have not learnt anything yet."""

    @abstractmethod
    def weighed(self, heard: Heard, weights: W) -> Floats:
        """Statistics (N, K) of what was heard."""

    def statistics(self, chunk: Chunk) -> Floats:
        """Statistics (N, K) of replies that are all there is."""
        heard, weights = self.hear(chunk), self.weights()
        weights.learn(heard)
        return self.weighed(heard, weights)

    def hear(self, chunk: Chunk) -> Heard:
        """``chunk`` in words."""
        references = chunk.references(self.cut)
        replies = np.repeat(np.arange(len(references)), [len(golds) for golds in references])
        golds = Texts(gold for each in references for gold in each)
        return Heard(Texts(chunk.predictions(self.cut)), golds, replies, chunk.rows)

    def tally(self, sample: Sample) -> "TwiceTally[W]":
        """An empty tally."""
        return TwiceTally(self, sample)


class TwiceTally(SumTally, Generic[W]):
    """All words heard, and what their references teach."""

    def __init__(self, metric: Twice[W], sample: Sample) -> None:
        super().__init__(metric, sample)
        self.twice, self.weights = metric, metric.weights()
        self._heard: list[Heard] = []
        self._folded = False

    def add(self, chunk: Chunk) -> None:
        """Keep the words of ``chunk``."""
        self._fold()
        require_references(self.metric.name, chunk)
        self._heard.append(self.twice.hear(chunk))
        self.weights.learn(self._heard[-1])

    def by_conversation(self) -> Floats:
        """The sums (G, K)."""
        self._fold()
        sums = np.zeros((self.sample.size, self.metric.width))
        for heard in self._heard:
            np.add.at(sums, heard.rows, self.twice.weighed(heard, self.weights))
        return sums[self.sample.order]

    def _fold(self) -> None:
        """Once conversations are drawn in blocks, rows are those of blocks too."""
        blocks = self.sample.folded
        if blocks is not None and not self._folded:
            for heard in self._heard:
                heard.rows = blocks[heard.rows]
            self._folded = True
