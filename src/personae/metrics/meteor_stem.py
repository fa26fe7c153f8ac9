"""METEOR with its exact and stem stages only: what can be computed without METEOR's word lists."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from snowballstemmer import stemmer

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.meteor_align import align
from personae.metrics.meteor_score import MeteorSums, without_whole
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed

SUMS = MeteorSums(delta=0.5)
_STEMMER = stemmer("english")


@Metric.register("meteor_exact_stem")
class MeteorExactStem(Summed):
    """METEOR 1.5 with exact and stem matches only, 0 to 1: not the number of the full METEOR.

    Lower-cased blank-separated words; weights 1 and 0.6, alpha 0.85, beta 0.2, gamma 0.6 as for English in METEOR
    1.5 (Denkowski and Lavie 2014). It lacks WordNet synonyms, paraphrases and the telling apart of content and
    function words (delta 0.5: they weigh the same), which need METEOR's own data: see ``meteor`` for these.
    The score of summed counts over replies, of the reference that scores best alone each.
    """

    default = False
    width = MeteorSums.width

    def statistics(self, chunk: Chunk) -> Floats:
        """Counts (N, 23) of each reply with its best reference: see ``MeteorSums``."""
        pairs = zip(chunk.predictions(lower_words), chunk.references(lower_words), strict=True)
        return np.array([best_counts(words, golds) for words, golds in pairs])

    def combine(self, sums: Floats) -> Floats:
        """METEOR of sums (R, 23)."""
        return SUMS.score(sums)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """Stages, weights and parameters."""
        return {"tok": "blank", "norm": "lower", "stages": "exact-1+stem-0.6", **SUMS.fields(), "refs": "best"}


def lower_words(text: str) -> tuple[str, ...]:
    """Blank-separated words, lower-cased."""
    return tuple(text.lower().split())


def best_counts(words: Sequence[str], golds: Sequence[Sequence[str]]) -> Floats:
    """Counts (23,) with the reference that scores best, the first of equals."""
    counts = without_whole(np.array([_counts(words, gold) for gold in golds], float))
    return np.asarray(counts[int(np.argmax(SUMS.score(counts)))])


def _counts(words: Sequence[str], gold: Sequence[str]) -> list[float]:
    aligned = align(words, gold, [stem(word) for word in words], [stem(word) for word in gold])
    matches = [aligned.exact, aligned.exact, 0, 0, aligned.stem, aligned.stem, 0, 0]
    whole = aligned.exact + aligned.stem
    return [len(words), len(gold), 0, 0, *matches, *[0] * 8, aligned.chunks, whole, whole]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The Snowball English stem."""
    return str(_STEMMER.stemWord(word))
