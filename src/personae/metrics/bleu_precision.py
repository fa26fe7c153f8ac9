"""N-gram precisions without brevity penalty: what PAA prints as BLEU-1 and BLEU-2."""

from sacrebleu.metrics.bleu import BLEUScore

from personae.metrics.base import Metric
from personae.metrics.bleu import CorpusStatistic


@Metric.register("bleu_p1")
class UnigramPrecision(CorpusStatistic):
    """Sacrebleu's corpus unigram precision in %, no brevity penalty: PAA's "BLEU-1"; constants reach 20.7."""

    @staticmethod
    def part(score: BLEUScore) -> float:
        """The precision of single words."""
        return float(score.precisions[0])


@Metric.register("bleu_p2")
class BigramPrecision(CorpusStatistic):
    """Sacrebleu's corpus bigram precision in %, no brevity penalty: PAA's "BLEU-2"."""

    @staticmethod
    def part(score: BLEUScore) -> float:
        """The precision of word pairs."""
        return float(score.precisions[1])
