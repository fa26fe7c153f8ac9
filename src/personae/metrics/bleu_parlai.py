"""ParlAI's sentence BLEU: the mean over replies, all but unsmoothed."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.normalize import normalized_tokens
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed
from personae.metrics.word_matches import brevity_penalty, split_matches, word_matches

EPSILON = 1e-12
NOTHING = ["<nothing>"]  # what an empty text counts as: one word, which no normalised text holds


class ParlaiBleu(Summed):
    """Mean sentence BLEU on ParlAI-normalised words, 0 to 1, all references: no match counts 1e-12 matches.

    NLTK's smoothing method 1 with the epsilon that ParlAI gives. A perfect reply of fewer than ``order`` words
    scores next to 0; two texts that normalise to nothing count as the same word.
    """

    default = False
    order: ClassVar[int]

    def statistics(self, chunk: Chunk) -> Floats:
        """BLEU and 1 of each reply (N, 2)."""
        said, gold, matches, grams = split_matches(chunk.once(_matches))
        matches, grams = matches[:, : self.order], np.maximum(1, grams[:, : self.order])
        logs = np.log(np.where(matches > 0, matches, EPSILON) / grams)
        scores = np.exp(logs.mean(axis=1)) * brevity_penalty(said, gold)
        return np.stack([np.where(matches[:, 0] > 0, scores, 0.0), np.ones(len(scores))], axis=1)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut and zeros smoothed."""
        return {"norm": "parlai", "smooth": f"method1-{EPSILON:g}", "refs": "closest", "avg": "reply"}


def _cut(text: str) -> list[str]:
    return normalized_tokens(text) or NOTHING


def _matches(chunk: Chunk) -> Floats:
    return word_matches(chunk, _cut)


@Metric.register("parlai_bleu1")
class ParlaiBleu1(ParlaiBleu):
    """Mean sentence BLEU-1 as ParlAI prints it, 0 to 1."""

    order = 1


@Metric.register("parlai_bleu2")
class ParlaiBleu2(ParlaiBleu):
    """Mean sentence BLEU-2 as ParlAI prints it, 0 to 1."""

    order = 2


@Metric.register("parlai_bleu3")
class ParlaiBleu3(ParlaiBleu):
    """Mean sentence BLEU-3 as ParlAI prints it, 0 to 1."""

    order = 3


@Metric.register("parlai_bleu4")
class ParlaiBleu4(ParlaiBleu):
    """Mean sentence BLEU-4 as ParlAI prints it, 0 to 1."""

    order = 4
