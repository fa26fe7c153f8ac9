"""Corpus BLEU of orders 1 to 4 as the COCO caption tools compute it, which AVSD results are given in."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed
from personae.metrics.word_matches import WIDTH, blank_matches, brevity_penalty, split_matches


class CocoBleu(Summed):
    """Corpus BLEU on blank-separated words, any number of references, from 0 to 1: no smoothing.

    The geometric mean of the clipped n-gram precisions up to ``order`` with brevity penalty against the closest
    reference lengths (Papineni et al. 2002, as in Chen et al. 2015). The published tool adds 1e-15 to matches and
    1e-9 to counts, so that it never gives exactly 0.
    """

    width = WIDTH
    default = False
    order: ClassVar[int]

    def statistics(self, chunk: Chunk) -> npt.ArrayLike:
        """See ``word_matches``."""
        return chunk.once(blank_matches)

    def combine(self, sums: Floats) -> Floats:
        """BLEU of sums (R, 12)."""
        said, gold, matches, grams = split_matches(sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(matches[:, : self.order] / grams[:, : self.order])
        return np.asarray(np.nan_to_num(np.exp(logs.mean(axis=1))) * brevity_penalty(said, gold))

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut."""
        return {"tok": "blank", "smooth": "none", "refs": "closest", "avg": "corpus"}


@Metric.register("coco_bleu1")
class CocoBleu1(CocoBleu):
    """Corpus BLEU-1 of the COCO caption tools, 0 to 1."""

    order = 1


@Metric.register("coco_bleu2")
class CocoBleu2(CocoBleu):
    """Corpus BLEU-2 of the COCO caption tools, 0 to 1."""

    order = 2


@Metric.register("coco_bleu3")
class CocoBleu3(CocoBleu):
    """Corpus BLEU-3 of the COCO caption tools, 0 to 1."""

    order = 3


@Metric.register("coco_bleu4")
class CocoBleu4(CocoBleu):
    """Corpus BLEU-4 of the COCO caption tools, 0 to 1."""

    order = 4
