"""Word F1 as ParlAI and the ConvAI2 competition define it."""

import math
from collections import Counter
from collections.abc import Sequence

from personae.metrics.base import Metric, Reply, Score
from personae.metrics.bootstrap import BOOTSTRAP, bootstrap_ratio
from personae.metrics.checks import conversations, require_references
from personae.metrics.normalize import normalized_tokens
from personae.metrics.signature import sample_signature


def word_f1(prediction: str, references: Sequence[str]) -> float:
    """Best F1 in [0, 1] of the normalised words of ``prediction`` against any reference, as multisets."""
    words = normalized_tokens(prediction)
    return max(_f1(words, normalized_tokens(reference)) for reference in references)


def _f1(words: list[str], gold: list[str]) -> float:
    shared = sum((Counter(words) & Counter(gold)).values()) if words and gold else 0
    return 2 * shared / (len(words) + len(gold)) if shared else 0.0


@Metric.register("f1")
class WordF1(Metric):
    """Mean word F1 in %, best reference each; on ConvAI2 a constant scores 22.98: print it beside."""

    def measure(self, replies: Sequence[Reply]) -> Score:
        """Score ``replies``; an empty prediction counts 0."""
        require_references(self.name, replies)
        scores = [100 * word_f1(reply.prediction, reply.references) for reply in replies]
        interval = bootstrap_ratio(scores, [1] * len(scores), conversations(replies))
        stamp = sample_signature(self.name, replies, norm="parlai", refs="max", avg="reply", ci=BOOTSTRAP)
        return Score(math.fsum(scores) / len(scores), stamp, interval)
