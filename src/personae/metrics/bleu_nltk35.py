"""Sentence BLEU with smoothing method 7 as NLTK had it until 3.5: what DialogVED prints as BLEU-1 and BLEU-2.

Shapes: N replies of a chunk.
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed
from personae.metrics.word_matches import blank_matches, brevity_penalty, split_matches

ORDER = 4
K = 5  # NLTK's default k of method 4


class Nltk35Bleu(Summed):
    """Mean sentence BLEU on blank-separated words, smoothed so that a perfect reply scores 1.33; not in %.

    Method 7 is method 4, then method 5 (Chen and Cherry 2014), with NLTK 3.5's slip: a precision of order i + 1
    without any match, of c n-grams, becomes (i + 5 / ln(words said)) / c, which may exceed 1; NLTK 3.6 changed it.
    Then, from order 1 on, with p'_0 = p_1 + 1: p'_n = (p'_{n-1} + p_n + p_{n+1}) / 3, p_5 as it is.
    A reply without a matching word scores 0. So does one of a single word, even a perfect one: ln(1) = 0
    makes NLTK divide by zero, which the published script counts as 0.
    """

    default = False
    order: ClassVar[int]

    def statistics(self, chunk: Chunk) -> Floats:
        """BLEU and 1 of each reply (N, 2)."""
        said, gold, matches, grams = split_matches(chunk.once(blank_matches))
        defined = (matches[:, 0] > 0) & (said > 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            smoothed = method7(matches, np.maximum(1, grams), said)[:, : self.order]
            scores = np.exp(np.log(smoothed).mean(axis=1)) * brevity_penalty(said, gold)
        return np.stack([np.where(defined, scores, 0.0), np.ones(len(scores))], axis=1)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut and zeros smoothed."""
        return {"tok": "blank", "smooth": "nltk3.5-method7", "undefined": 0, "refs": "closest", "avg": "reply"}


def method7(matches: Floats, grams: Floats, said: Floats) -> Floats:
    """Smoothed precisions (N, 4) of matches and n-grams (N, 5) of orders 1 to 5 in replies of ``said`` words (N,)."""
    steps = np.arange(ORDER) + K / np.log(said)[:, None]
    raised = np.where(matches[:, :ORDER] > 0, matches[:, :ORDER], steps) / grams[:, :ORDER]
    after = np.concatenate([raised[:, 1:], (matches / grams)[:, ORDER:]], axis=1)
    smoothed, before = np.zeros_like(raised), raised[:, 0] + 1
    for at in range(ORDER):
        smoothed[:, at] = before = (before + raised[:, at] + after[:, at]) / 3
    return smoothed


@Metric.register("bleu_nltk35_method7_1")
class Nltk35Bleu1(Nltk35Bleu):
    """DialogVED's BLEU-1: mean of sentence BLEU by NLTK 3.5's method 7; a perfect reply scores 1.33."""

    order = 1


@Metric.register("bleu_nltk35_method7_2")
class Nltk35Bleu2(Nltk35Bleu):
    """DialogVED's BLEU-2: mean of sentence BLEU by NLTK 3.5's method 7; may exceed 1."""

    order = 2
