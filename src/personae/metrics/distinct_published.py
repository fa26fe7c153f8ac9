"""Distinct as single papers compute it, each under its own name; see ``distinct`` for the one to compare by."""

from collections.abc import Mapping, Sequence

from personae.metrics.base import Metric
from personae.metrics.distinct import Distinct
from personae.metrics.normalize import words_and_marks, words_without_articles
from personae.metrics.sample import Chunk


class PaaDistinct(Distinct):
    """Distinct n-grams / words, in %, of words and punctuation marks: divided by words whatever the order.

    Tokens by ``words_and_marks``, as the published code of PAA (Huang et al. 2023) has them.
    """

    default = False

    def tokens(self, chunk: Chunk) -> list[list[str]]:
        """Words and punctuation marks."""
        return chunk.predictions(words_and_marks)

    def units(self, words: Sequence[str]) -> int:
        """The words."""
        return len(words)

    def fields(self) -> Mapping[str, object]:
        """What is counted."""
        return {"norm": "clean-up+punctuation-apart", "order": self.order, "per": "word"}


@Metric.register("paa_dist1")
class PaaDistinctUnigrams(PaaDistinct):
    """PAA's Dist-1: distinct words and marks / words and marks, in %."""

    order = 1


@Metric.register("paa_dist2")
class PaaDistinctBigrams(PaaDistinct):
    """PAA's Dist-2: distinct pairs / words and marks (not pairs), in %."""

    order = 2


class AdandDistinct(Distinct):
    """Distinct n-grams / n-grams, in %, of blank-separated words as said, without any normalisation.

    AdaND (Cai et al. 2019) and, as a share, DialogVED's "inter" Distinct (Chen et al. 2022).
    """

    default = False

    def tokens(self, chunk: Chunk) -> list[list[str]]:
        """Blank-separated words."""
        return chunk.predictions(str.split)

    def fields(self) -> Mapping[str, object]:
        """What is counted."""
        return {"norm": "none", "per": f"{self.order}-gram"}


@Metric.register("adand_dist1")
class AdandDistinctUnigrams(AdandDistinct):
    """AdaND's Dist-1: distinct words / words as said, in %."""

    order = 1


@Metric.register("adand_dist2")
class AdandDistinctBigrams(AdandDistinct):
    """AdaND's Dist-2: distinct pairs / pairs as said, in %."""

    order = 2


@Metric.register("adand_dist3")
class AdandDistinctTrigrams(AdandDistinct):
    """AdaND's Dist-3: distinct triples / triples as said, in %."""

    order = 3


@Metric.register("cao_dist2")
class CaoDistinctBigrams(Distinct):
    """Cao et al.'s Dist-2: distinct pairs / pairs, in %, lower-cased, without a/an/the, punctuation kept."""

    default = False
    order = 2

    def tokens(self, chunk: Chunk) -> list[list[str]]:
        """Words without articles."""
        return chunk.predictions(words_without_articles)

    def fields(self) -> Mapping[str, object]:
        """What is counted: tokens less sentences are the pairs."""
        return {"norm": "lower-no-articles", "per": "2-gram"}
