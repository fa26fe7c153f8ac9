"""Distinct things by conversation: how many there are, and how many only one conversation has.

Shapes: M mentions, U distinct things, G rows.
"""

import numpy as np

from personae.metrics.sample import Rows, Sample

SHARED = -1
_AT_LEAST = 1 << 18  # mentions gathered before they are merged


class Types:
    """Distinct things, known by a 64-bit hash, each with the row of its only conversation or ``SHARED``.

    Twelve to sixteen bytes for each distinct thing, however often it is mentioned.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._keys, self._holders = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._pending: list[tuple[Rows, Rows]] = []
        self._folded = False

    def add(self, hashes: Rows, rows: Rows) -> None:
        """Note mentions (M) by the conversations with the given rows (M)."""
        self._fold()
        self._pending.append((hashes, rows))
        if sum(len(keys) for keys, _ in self._pending) > max(_AT_LEAST, len(self._keys) // 2):
            self._merge()

    def __len__(self) -> int:
        """How many distinct things there are."""
        self._merge()
        return len(self._keys)

    def own(self) -> Rows:
        """How many (G) only one row has, in the order of the sample's names."""
        self._merge()
        held = self._holders[self._holders != SHARED]
        return np.bincount(held, minlength=self.sample.size)[self.sample.order]

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._pending)])
        holders = np.concatenate([self._holders, *(rows for _, rows in self._pending)])
        self._pending = []
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        keys, holders = keys[order], holders[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        low, high = np.minimum.reduceat(holders, starts), np.maximum.reduceat(holders, starts)
        self._keys, self._holders = keys[starts], np.where(low == high, low, SHARED)

    def _fold(self) -> None:
        """Once conversations are drawn in blocks, holders are blocks too."""
        blocks = self.sample.folded
        if blocks is not None and not self._folded:
            self._merge()
            held = self._holders != SHARED
            self._holders[held] = blocks[self._holders[held]]
            self._folded = True
