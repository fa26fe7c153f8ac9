"""Corpus BLEU by sacrebleu, with an interval from its sufficient statistics."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU, BLEUScore

from personae.metrics.base import Metric, Reply, Score
from personae.metrics.bootstrap import BOOTSTRAP, Floats, bootstrap
from personae.metrics.checks import conversations, require_references
from personae.metrics.signature import sample_signature

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
    lengths, matches, totals = np.split(np.rint(sums).astype(int), [2, 2 + ORDER])
    said, gold = (int(length) for length in lengths)
    return BLEU.compute_bleu(matches.tolist(), totals.tolist(), said, gold, smooth_method="exp")


def sacrebleu_signature(replies: Sequence[Reply]) -> str:
    """Sacrebleu's own signature for these replies."""
    scorer = BLEU()
    counts = {len(reply.references) for reply in replies}
    scorer.num_refs = counts.pop() if len(counts) == 1 else -1
    return str(scorer.get_signature())


class CorpusStatistic(Metric):
    """A part of sacrebleu's corpus score, in %."""

    @staticmethod
    @abstractmethod
    def part(score: BLEUScore) -> float:
        """The part of ``score`` that the metric reports."""

    def measure(self, replies: Sequence[Reply]) -> Score:
        """Score ``replies``; an empty prediction counts with its reference's length."""
        require_references(self.name, replies)
        statistics = bleu_statistics(replies)
        value = self._combine(statistics.sum(axis=0, keepdims=True))[0]
        interval = bootstrap(statistics, conversations(replies), self._combine)
        fields = {"sacrebleu": f"[{sacrebleu_signature(replies)}]", "ci": BOOTSTRAP}
        return Score(float(value), sample_signature(self.name, replies, **fields), interval)

    def _combine(self, sums: Floats) -> Floats:
        return np.array([self.part(corpus_bleu(row)) for row in sums])


@Metric.register("bleu")
class CorpusBleu(CorpusStatistic):
    """Corpus BLEU-4 with brevity penalty by sacrebleu, in %, any number of references."""

    @staticmethod
    def part(score: BLEUScore) -> float:
        """The score."""
        return float(score.score)
