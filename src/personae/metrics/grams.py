"""N-grams of many texts at once, by 64-bit hashes: counted, looked up, matched.

Shapes: T texts, M words of all of them, S n-grams, U distinct n-grams.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Rows

_STEP = np.int64(0x9E3779B97F4A7C15 - (1 << 64))  # odd: multiplying by it loses nothing
_OWNER = np.int64(0xC2B2AE3D27D4EB4F - (1 << 64))


class Texts:
    """Texts as hashes of words, eight bytes each: ``words`` (M,), ``lengths`` (T,)."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        kept = list(texts)
        self.lengths = np.array([len(text) for text in kept], np.int64)
        self.words = np.array([hash(word) for text in kept for word in text], np.int64)

    def starts(self, order: int) -> Rows:
        """Where (S,) n-grams of ``order`` start that lie within one text."""
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(self.words))
        return np.flatnonzero(left >= order)

    def keys(self, starts: Rows, order: int) -> Rows:
        """Hashes (S,) of the n-grams of ``order`` at ``starts``."""
        keys = np.zeros(len(starts), np.int64)
        for step in range(order):
            keys = keys * _STEP + self.words[starts + step]
        return keys

    def owners(self, starts: Rows) -> Rows:
        """The texts (S,) that ``starts`` lie in."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)[starts]


class Counts:
    """How often each thing was seen: sixteen bytes for each distinct one."""

    def __init__(self) -> None:
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, keys: Rows) -> None:
        """See ``keys`` (S,) once more each."""
        both = np.concatenate([self._keys, keys])
        weights = np.concatenate([self._counts, np.ones(len(keys), np.int64)])
        self._keys, which = np.unique(both, return_inverse=True)
        self._counts = np.bincount(which, weights, len(self._keys)).astype(np.int64)

    def of(self, keys: Rows) -> Rows:
        """How often each of ``keys`` (S,) was seen."""
        return looked_up(keys, self._keys, self._counts).astype(np.int64)


class Grams:
    """The distinct n-grams of each owner: ``keys``, ``owners`` and ``counts`` (U,); ``pairs`` name owner and n-gram."""

    def __init__(self, keys: Rows, owners: Rows) -> None:
        pairs, first, self.counts = np.unique(paired(keys, owners), return_index=True, return_counts=True)
        self.pairs, self.keys, self.owners = pairs, keys[first], owners[first]


def paired(keys: Rows, owners: Rows) -> Rows:
    """One hash (S,) for an n-gram and its owner."""
    return keys * _OWNER + owners


def looked_up(pairs: Rows, known: Rows, values: Rows | Floats) -> Floats:
    """``values`` (U,) of ``pairs`` (S,) among the sorted ``known`` (U,); 0 for what is not known."""
    if not len(known):
        return np.zeros(len(pairs))
    at = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    return np.where(known[at] == pairs, values[at], 0).astype(float)
