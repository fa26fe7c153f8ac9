"""The bag of words with the best word F1, which no published system of ConvAI2 reaches.

Shapes: N sampled replies, W candidate words.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from personae.errors import UserError
from personae.metrics.bootstrap import Floats
from personae.metrics.floors.base import Floor
from personae.metrics.normalize import normalized_tokens
from personae.text.dialogue import Dialogue

CONVAI2_CONSTANT = "i you to my do is i that and like are"


@Floor.register("constant:convai2")
class ConvAI2Constant(Floor):
    """The bag of words that scores F1 22.98 on ConvAI2 validation, more than any published system."""

    text = CONVAI2_CONSTANT

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """The constant."""
        return self.text


@Floor.register("constant")
class Constant(Floor):
    """The bag of words with the best F1 on ``training``; without a training split, ConvAI2's."""

    needs_training = True

    def __init__(self, training: Iterable[Dialogue] | None = None, sample: int = 5000) -> None:
        """Search on the first ``sample`` dialogues of ``training``."""
        self.text: str = CONVAI2_CONSTANT
        if training is not None:
            self.text = best_constant([dialogue.response for dialogue in islice(training, sample)])

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """The constant."""
        return self.text


def best_constant(replies: Sequence[str], candidates: int = 300) -> str:
    """Grow, one word at a time, the bag of words with the best mean word F1 against ``replies``.

    The words come from the ``candidates`` that occur in most replies; the search is greedy and deterministic.
    """
    golds = [normalized_tokens(reply) for reply in replies]
    words = _frequent(golds, candidates)
    counts, lengths = count_matrix(golds, words), np.array([len(gold) for gold in golds], float)
    bag, shared, best = np.zeros(len(words), int), np.zeros(len(golds)), 0.0
    chosen: list[str] = []
    while True:
        gains = counts > bag
        weights = 2 / (len(chosen) + 1 + lengths)
        totals = weights @ shared + weights @ gains
        word = int(np.argmax(totals))
        if totals[word] <= best + 1e-9:
            return " ".join(chosen)
        best, shared = totals[word], shared + gains[:, word]
        bag[word] += 1
        chosen.append(words[word])


def _frequent(golds: list[list[str]], size: int) -> list[str]:
    """Return the ``size`` words that occur in most replies, ties in alphabetical order."""
    spread = Counter(word for gold in golds for word in set(gold))
    if not spread:
        raise UserError("the constant floor finds no words in the training replies: give another split")
    return sorted(spread, key=lambda word: (-spread[word], word))[:size]


def count_matrix(golds: list[list[str]], words: list[str]) -> Floats:
    """How often each word occurs in each reply: (N, W)."""
    column = {word: number for number, word in enumerate(words)}
    counts = np.zeros((len(golds), len(words)))
    for row, gold in enumerate(golds):
        for word in gold:
            if word in column:
                counts[row, column[word]] += 1
    return counts
