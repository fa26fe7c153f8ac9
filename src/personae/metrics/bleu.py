"""Corpus BLEU by sacrebleu, with an interval from its sufficient statistics."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU, BLEUScore

from personae.metrics.base import Metric, Reply
from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed

ORDER = 4


def bleu_statistics(replies: Sequence[Reply]) -> Floats:
    """Rows (N, 10): reply length, closest reference length, matches of order 1 to 4, n-grams of order 1 to 4.

    Summed, they are all that sacrebleu's ``corpus_score`` rests on (13a tokens, mixed case).
    """
    scorer = BLEU(effective_order=True)
    scored = [scorer.sentence_score(reply.prediction, reply.references) for reply in replies]
    return np.array([[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in scored], float)


def corpus_bleu(sums: Floats) -> BLEUScore:
    """Sacrebleu's corpus score of the summed statistics (10,)."""
    said, gold, *counts = np.rint(sums).astype(int).tolist()
    return BLEU.compute_bleu(counts[:ORDER], counts[ORDER:], said, gold, smooth_method="exp")


def _with_powers(chunk: Chunk) -> Floats:
    powers = np.vander([len(reply.references) for reply in chunk.replies], 3, increasing=True)
    return np.concatenate([bleu_statistics(chunk.replies), powers], axis=1)


def sacrebleu_signature(references: int) -> str:
    """Sacrebleu's own signature for so many references each (-1: it differs)."""
    scorer = BLEU()
    scorer.num_refs = references
    return str(scorer.get_signature())


class CorpusStatistic(Summed):
    """A part of sacrebleu's corpus score, in %; an empty prediction counts with its reference's length."""

    width = 2 + 2 * ORDER + 3

    @staticmethod
    @abstractmethod
    def part(score: BLEUScore) -> float:
        """The part of ``score`` that the metric reports."""

    def statistics(self, chunk: Chunk) -> Floats:
        """See ``bleu_statistics``; then powers 0 to 2 of the number of references, to see whether it differs."""
        return chunk.once(_with_powers)

    def combine(self, sums: Floats) -> Floats:
        """The part of the corpus score of each row of sums."""
        return np.array([self.part(corpus_bleu(row[:-3])) for row in sums])

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """Sacrebleu's own signature."""
        replies, references, squares = (int(each) for each in sums[-3:])
        same = squares * replies == references**2
        return {"sacrebleu": f"[{sacrebleu_signature(references // replies if same else -1)}]"}


@Metric.register("bleu")
class CorpusBleu(CorpusStatistic):
    """Corpus BLEU-4 with brevity penalty by sacrebleu, in %, any number of references."""

    @staticmethod
    def part(score: BLEUScore) -> float:
        """The score."""
        return float(score.score)
