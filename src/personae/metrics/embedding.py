"""Embedding Average, Greedy and Extrema: how near reply and reference are in a space of word vectors.

Shapes: P and Q words of a reply and a reference that have a vector, D dimensions.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.reply import Reply
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed
from personae.metrics.vectors import Vectors, WordVectors, load_vectors

TINY = 1e-11  # a shorter vector is none


class Embedding(Summed):
    """A cosine in %, mean over replies, the best reference each; ``vectors`` is a file of word vectors.

    Lower-cased blank-separated words; those without a vector are left out (Liu et al. 2016, as AdaND's code has
    it). A reply without any known word counts 0. The numbers depend on the vectors: their digest is in the signature.
    """

    default = False

    def __init__(self, vectors: str | Path | None = None) -> None:
        self.path = None if vectors is None else Path(vectors)

    @cached_property
    def vectors(self) -> WordVectors:
        """The word vectors. Raises ``UserError`` where no file was given or it cannot be read."""
        if self.path is None:
            raise UserError(f"{self.name} needs word vectors: give --vectors FILE (GloVe or word2vec text, or npz)")
        return load_vectors(self.path.resolve())

    @abstractmethod
    def likeness(self, said: Vectors, gold: Vectors) -> float | None:
        """From -1 to 1 of a reply (P, D) and a reference (Q, D); None where the reference cannot be compared with."""

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether there are vectors and references."""
        return self.path is not None and super().applies(replies)

    def statistics(self, chunk: Chunk) -> list[tuple[float, int]]:
        """The best likeness and 1 of each reply; 0 and 0 where no reference can be compared with."""
        pairs = zip(chunk.predictions(lower_words), chunk.references(lower_words), strict=True)
        return [self._best(self.vectors.of(words), [self.vectors.of(gold) for gold in golds]) for words, golds in pairs]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """The vectors and how many replies count; a ``UserError`` where none does."""
        if not sums[1]:
            raise UserError(f"{self.name}: no reference has a word in {self.path}: give vectors of the same language")
        return {"norm": "lower", "vectors": self.vectors.digest, "scored": int(sums[1]), "refs": "max", "avg": "reply"}

    def _best(self, said: Vectors, golds: Sequence[Vectors]) -> tuple[float, int]:
        found = [each for each in (self.likeness(said, gold) for gold in golds) if each is not None]
        return (100 * max(found), 1) if found else (0.0, 0)


def lower_words(text: str) -> list[str]:
    """Blank-separated words, lower-cased."""
    return text.lower().split()


def cosine(one: Floats, other: Floats) -> float:
    """Cosine of two vectors (D,) of some length."""
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def of_pooled(said: Floats, gold: Floats) -> float | None:
    """Cosine of pooled vectors (D,): None without a reference, 0 without a reply."""
    if np.linalg.norm(gold) < TINY:
        return None
    return cosine(said, gold) if np.linalg.norm(said) >= TINY else 0.0


@Metric.register("embedding_average")
class EmbeddingAverage(Embedding):
    """Embedding Average in %: cosine of the sums of the words' vectors; a reference of unknown words is left out."""

    def likeness(self, said: Vectors, gold: Vectors) -> float | None:
        """See ``of_pooled``."""
        return of_pooled(said.sum(axis=0, dtype=float), gold.sum(axis=0, dtype=float))


@Metric.register("embedding_greedy")
class EmbeddingGreedy(Embedding):
    """Embedding Greedy in %: mean over words of the best cosine on the other side, mean of both ways; 0 if none."""

    def likeness(self, said: Vectors, gold: Vectors) -> float | None:
        """Never None: a side without a known word gives 0, as in the published code."""
        if not len(said) or not len(gold):
            return 0.0
        cosines = unit(gold) @ unit(said).T
        return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2


@Metric.register("embedding_extrema")
class EmbeddingExtrema(Embedding):
    """Embedding Extrema in %: cosine of the per-dimension extremes; a reference of unknown words is left out."""

    def likeness(self, said: Vectors, gold: Vectors) -> float | None:
        """See ``of_pooled``."""
        return of_pooled(extremes(said), extremes(gold))


def extremes(vectors: Vectors) -> Floats:
    """Per dimension the largest value, or the smallest where that is farther from 0: (D,); zeros of no vectors."""
    if not len(vectors):
        return np.zeros(vectors.shape[1])
    most, least = vectors.max(axis=0), vectors.min(axis=0)
    return np.asarray(np.where(np.abs(least) > most, least, most), float)


def unit(vectors: Vectors) -> Floats:
    """Vectors (P, D) of length 1; one of length 0 stays."""
    lengths = np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, TINY))
