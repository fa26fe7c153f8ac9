"""Probabilities of whole words under a model of word pieces, among the words of a dictionary.

Words are known by their pieces, token ids. The mass of a word is the product of its pieces' probabilities; the
mass of the dictionary is the sum over its words. Words of one piece need one look at the model, longer ones a look
behind every beginning of theirs. That would be thousands of looks at each word of a reply, nearly all behind
beginnings that the model finds unlikely: so the likeliest are looked behind until what the others can add is
within a tolerance. Shapes: V vocabulary, n beginnings.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from personae.errors import UserError

Pieces = tuple[int, ...]
# Probabilities (n, V) of what follows n beginnings of a word.
Look = Callable[[Sequence[Pieces]], Tensor]

ROWS = 32


@dataclass
class Node:
    """A beginning of words: what may follow it (``children``), and whether it is a word itself.

    ``height``: the most words on one way down from here; ``ids``, ``words`` (0 or 1) and ``heights`` are the same
    of the children, as tensors.
    """

    children: dict[int, "Node"] = field(default_factory=dict)
    word: str | None = None
    height: int = 0
    ids: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.long))
    words: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.double))
    heights: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.double))

    def close(self) -> None:
        """Count what lies below, once all words are there."""
        for child in self.children.values():
            child.close()
        children = self.children.values()
        self.height = max((child.height + (child.word is not None) for child in children), default=0)
        self.ids = torch.tensor(list(self.children), dtype=torch.long)
        self.words = torch.tensor([child.word is not None for child in children], dtype=torch.double)
        self.heights = torch.tensor([child.height for child in children], dtype=torch.double)


@dataclass(frozen=True)
class Beginning:
    """A beginning that was not looked behind: ``bound`` is the most that the words behind it can weigh."""

    pieces: Pieces
    node: Node
    mass: float
    bound: float


class Trie:
    """The words of a dictionary by their pieces.

    Raises ``UserError`` for a word without pieces and for two of the same pieces.
    """

    def __init__(self, words: Mapping[str, Pieces]) -> None:
        self.root = Node()
        for word, pieces in words.items():
            self._add(word, pieces)
        self.root.close()
        self.longest = max(map(len, words.values()), default=0)

    def _add(self, word: str, pieces: Pieces) -> None:
        node = self.root
        for piece in pieces:
            node = node.children.setdefault(piece, Node())
        if not pieces:
            raise UserError(f"dictionary: the model's tokenizer has nothing for '{word}': take it out")
        if node.word is not None:
            raise UserError(
                f"dictionary: the model's tokenizer cannot tell '{node.word}' from '{word}': their perplexity "
                f"is not defined for this model"
            )
        node.word = word

    def mass(self, first: Tensor, look: Look, tolerance: float) -> tuple[float, float]:
        """Bounds on the mass of all words, at most ``tolerance`` nats apart; 0 makes them equal.

        ``first`` (V,) are the probabilities of a word's first piece. The mass behind a beginning of mass m is at
        most m times the most words on one way down from it.
        """
        known, opened = self._step(Beginning((), self.root, 1.0, 0.0), first)
        waiting = sorted(opened, key=lambda one: -one.bound)
        while True:
            rest = math.fsum(one.bound for one in waiting)
            if not waiting or rest <= math.expm1(tolerance) * known:
                return known, known + rest
            now, waiting = waiting[:ROWS], waiting[ROWS:]
            now, later = cut(now, rest, math.expm1(tolerance) * known)
            for one, probabilities in zip(now, look([each.pieces for each in now]), strict=True):
                more, opened = self._step(one, probabilities)
                known += more
                later += opened
            waiting = sorted([*later, *waiting], key=lambda one: -one.bound)

    def _step(self, at: Beginning, probabilities: Tensor) -> tuple[float, list[Beginning]]:
        """The mass of the words one piece further than ``at``, and the beginnings there."""
        node = at.node
        masses = at.mass * probabilities.double()[node.ids.to(probabilities.device)].cpu()
        bounds, ids = masses * node.heights, node.ids.tolist()
        opened = [
            Beginning((*at.pieces, ids[index]), node.children[ids[index]], float(masses[index]), float(bounds[index]))
            for index in bounds.nonzero()[:, 0].tolist()
        ]
        return float((masses * node.words).sum()), opened


def cut(now: Sequence[Beginning], rest: float, allowed: float) -> tuple[list[Beginning], list[Beginning]]:
    """As many of ``now``, the likeliest first, as bring ``rest`` down to ``allowed``, and the others."""
    for count, one in enumerate(now):
        if rest <= allowed:
            return [*now[:count]], [*now[count:]]
        rest -= one.bound
    return [*now], []


def by_length(beginnings: Sequence[Pieces]) -> Iterator[tuple[list[int], list[Pieces]]]:
    """Positions and pieces of the beginnings of each length."""
    for length in sorted({len(each) for each in beginnings}):
        at = [number for number, each in enumerate(beginnings) if len(each) == length]
        yield at, [beginnings[number] for number in at]
