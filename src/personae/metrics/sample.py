"""The sample of replies that scores rest on, heard chunk by chunk, so that memory is bounded.

Shapes: N replies of a chunk, G rows (conversations, or blocks of them), K statistics.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

from personae.metrics.bootstrap import Floats
from personae.metrics.reply import Reply

T = TypeVar("T")
Rows = npt.NDArray[np.int64]

LIMIT = 1 << 15  # conversations kept apart; more are drawn in as many blocks
CHUNK = 4096  # replies heard at once
AT_LEAST = 1 << 16  # names gathered before they are merged


class Chunk:
    """Some replies, each with the row (N) of its conversation; ``start`` is the number of the first of them.

    What several metrics cut out of the same texts is cut once: ``chunk.predictions(normalized_tokens)``; what else
    they share is found once: ``chunk.once(bleu_statistics)``.
    """

    def __init__(self, replies: Sequence[Reply], rows: Rows, start: int) -> None:
        self.replies, self.rows, self.start = replies, rows, start
        self._kept: dict[tuple[str, Callable[[str], Any]], list[Any]] = {}
        self._found: dict[Callable[[Chunk], Any], Any] = {}

    def predictions(self, cut: Callable[[str], T]) -> list[T]:
        """``cut`` of every prediction."""
        key = ("predictions", cut)
        if key not in self._kept:
            self._kept[key] = [cut(reply.prediction) for reply in self.replies]
        return self._kept[key]

    def references(self, cut: Callable[[str], T]) -> list[list[T]]:
        """``cut`` of every reference of every reply."""
        key = ("references", cut)
        if key not in self._kept:
            self._kept[key] = [[cut(text) for text in reply.references] for reply in self.replies]
        return self._kept[key]

    def once(self, find: Callable[["Chunk"], T]) -> T:
        """``find`` of this chunk."""
        if find not in self._found:
            self._found[find] = find(self)
        return cast(T, self._found[find])


class Sample:
    """Counts replies and conversations, and gives every conversation a row.

    Up to ``LIMIT`` conversations have a row each. Beyond, a conversation's row is that of a block of them, by the
    CRC-32 of its name: intervals drawn by block are as valid, and memory is bounded. Which of both holds
    depends on the names that were heard, not on their order.
    """

    def __init__(self) -> None:
        self.replies = 0
        self.folded: Rows | None = None
        self._rows: dict[str, int] = {}
        self._hashes = np.zeros(0, np.int64)
        self._pending: list[int] = []

    def hear(self, replies: Sequence[Reply]) -> Chunk:
        """Count ``replies``, the next ones."""
        names = [reply.conversation for reply in replies]
        start, self.replies = self.replies, self.replies + len(replies)
        if self.folded is None:
            for name in names:
                self._rows.setdefault(name, len(self._rows))
            if len(self._rows) > LIMIT:
                self._fold()
            else:
                return Chunk(replies, np.array([self._rows[name] for name in names], np.int64), start)
        self._note(names)
        return Chunk(replies, np.array([block(name) for name in names], np.int64), start)

    @property
    def conversations(self) -> int:
        """How many there are."""
        if self.folded is None:
            return len(self._rows)
        self._merge()
        return len(self._hashes)

    @property
    def size(self) -> int:
        """Rows that may have been given out so far."""
        return len(self._rows) if self.folded is None else LIMIT

    @property
    def names(self) -> list[str]:
        """What the rows that count are called, sorted: conversations, or blocks."""
        return sorted(self._rows) if self.folded is None else [f"block {number}" for number in range(LIMIT)]

    @property
    def order(self) -> Rows:
        """The rows in the order of ``names``."""
        if self.folded is None:
            return np.array([self._rows[name] for name in self.names], np.int64)
        return np.arange(LIMIT)

    def _fold(self) -> None:
        """From now on blocks; ``folded`` (G) maps the rows of conversations to them."""
        self.folded = np.array([block(name) for name in self._rows], np.int64)
        self._note(self._rows)
        self._rows = {}

    def _note(self, names: Iterable[str]) -> None:
        """Know the names by 64-bit hashes, which are merged now and then: once for each chunk would be quadratic."""
        self._pending += [hash(name) for name in names]
        if len(self._pending) > max(AT_LEAST, len(self._hashes) // 2):
            self._merge()

    def _merge(self) -> None:
        hashes = np.sort(np.concatenate([self._hashes, np.array(self._pending, np.int64)]))
        self._hashes, self._pending = hashes[np.diff(hashes, prepend=hashes[:1] - 1) != 0], []


class Sums:
    """Statistics (G, K) summed by the rows of ``sample``."""

    def __init__(self, sample: Sample, width: int) -> None:
        self.sample = sample
        self._sums = np.zeros((0, width))
        self._folded = False

    def add(self, chunk: Chunk, statistics: npt.ArrayLike) -> None:
        """Add the rows of ``statistics`` (N, K), one for each reply of ``chunk``."""
        if self.sample.folded is not None and not self._folded:
            self._fold(self.sample.folded)
        if self.sample.size > len(self._sums):
            more = max(self.sample.size, min(2 * len(self._sums), LIMIT)) - len(self._sums)
            self._sums = np.concatenate([self._sums, np.zeros((more, self._sums.shape[1]))])
        np.add.at(self._sums, chunk.rows, np.asarray(statistics, float).reshape(len(chunk.rows), -1))

    def values(self) -> Floats:
        """The sums (G, K) in the order of the sample's names."""
        return self._sums[self.sample.order]

    def _fold(self, blocks: Rows) -> None:
        folded = np.zeros((LIMIT, self._sums.shape[1]))
        known = min(len(blocks), len(self._sums))
        np.add.at(folded, blocks[:known], self._sums[:known])
        self._sums, self._folded = folded, True


def chunks(replies: Iterable[Reply], sample: Sample, size: int = CHUNK) -> Iterator[Chunk]:
    """Let ``sample`` hear ``replies``, ``size`` at a time."""
    rest = iter(replies)
    while some := list(islice(rest, size)):
        yield sample.hear(some)


def block(name: str) -> int:
    """The block of a conversation."""
    return crc32(name.encode("utf-8", "surrogatepass")) % LIMIT
