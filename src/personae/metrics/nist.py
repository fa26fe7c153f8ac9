"""NIST-4: n-gram matches weighed by how much they tell (Doddington 2002), as mteval prints it.

Shapes: N replies of a chunk, T references of them, R sums.
"""

from collections.abc import Mapping

import numpy as np
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.grams import Counts, Grams, looked_up, paired
from personae.metrics.sample import Rows
from personae.metrics.twice import Heard, Twice, Weights

ORDER = 4
BETA = np.log(0.5) / np.log(1.5) ** 2  # a reply of two thirds of the length halves the score
_TOKENIZER = Tokenizer13a()  # type: ignore[no-untyped-call]


def mteval_words(text: str) -> list[str]:
    """Words and marks as mteval-v13a and v14c cut them, lower-cased."""
    return str(_TOKENIZER(text)).lower().split()


class Information(Weights):
    """How often each n-gram occurs in the references."""

    def __init__(self) -> None:
        self.words, self._counts = 0, {order: Counts() for order in range(1, ORDER + 1)}

    def learn(self, heard: Heard) -> None:
        """Count the n-grams of all references."""
        self.words += int(heard.golds.lengths.sum())
        for order, counts in self._counts.items():
            counts.add(heard.golds.keys(heard.golds.starts(order), order))

    def bits(self, keys: Rows, prefixes: Rows, order: int) -> Floats:
        """log2(count of the first order - 1 words / count of the n-gram), by hashes; 0 for an unknown n-gram."""
        counts = self._counts[order].of(keys)
        before = self._counts[order - 1].of(prefixes) if order > 1 else np.full(len(keys), self.words)
        return np.where(counts > 0, np.log2(np.maximum(1, before) / np.maximum(1, counts)), 0.0)


@Metric.register("nist4")
class Nist4(Twice[Information]):
    """NIST of orders 1 to 4 with mteval's tokens, lower-cased: bits per n-gram said, times the length penalty.

    sum_n (bits of matched n-grams / n-grams said), times exp(ln(0.5) / ln(1.5)^2 ln^2 min(1, words said / words of
    the references)); bits by ``Information``, several references: matches clipped by the best, lengths averaged.
    The published multi-source script also drops "&" and "<" and scores an empty reply as the word "__empty__".
    """

    width = 2 * ORDER + 2
    default = False
    cut = staticmethod(mteval_words)

    def weights(self) -> Information:
        """Nothing known."""
        return Information()

    def weighed(self, heard: Heard, weights: Information) -> Floats:
        """Bits matched of orders 1 to 4, n-grams said of these, words said, mean words of the references (N, 10)."""
        size = len(heard.rows)
        said = heard.said.lengths
        bits = [matched(heard, weights, order) for order in range(1, ORDER + 1)]
        grams = [np.maximum(0, said - order + 1) for order in range(1, ORDER + 1)]
        golds = np.bincount(heard.replies, heard.golds.lengths, size) / np.bincount(heard.replies, minlength=size)
        return np.stack([*bits, *grams, said, golds], axis=1).astype(float)

    def combine(self, sums: Floats) -> Floats:
        """NIST of sums (R, 10); 0 where nothing was said."""
        bits, grams, said, golds = np.split(sums, [ORDER, 2 * ORDER, 2 * ORDER + 1], axis=1)
        told = np.divide(bits, grams, out=np.zeros_like(bits), where=grams > 0).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            short = np.log(np.minimum(1, said / golds))[:, 0]
        return np.where(said[:, 0] > 0, told * np.exp(BETA * short**2), 0.0)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut."""
        return {"tok": "13a", "case": "lower", "info": "references", "refs": "best", "avg": "corpus"}


def matched(heard: Heard, weights: Information, order: int) -> Floats:
    """Bits (N,) of the n-grams of each reply that a reference of it has."""
    starts = heard.said.starts(order)
    keys, prefixes = heard.said.keys(starts, order), heard.said.keys(starts, order - 1)
    said = Grams(keys, heard.said.owners(starts))
    bits = np.zeros(len(said.pairs))
    bits[np.searchsorted(said.pairs, paired(keys, heard.said.owners(starts)))] = weights.bits(keys, prefixes, order)
    here = heard.golds.starts(order)
    golds = Grams(heard.golds.keys(here, order), heard.golds.owners(here))
    clipped = np.minimum(said.counts, best(golds, heard.replies[golds.owners], said))
    return np.asarray(np.bincount(said.owners, clipped * bits, len(heard.rows)), float)


def best(golds: Grams, replies: Rows, said: Grams) -> Floats:
    """How often the reference that has it most often has each of the n-grams of ``said``."""
    pairs, which = np.unique(paired(golds.keys, replies), return_inverse=True)
    most = np.zeros(len(pairs), np.int64)
    np.maximum.at(most, which, golds.counts)
    return looked_up(said.pairs, pairs, most)
