"""Word F1 as ParlAI and the ConvAI2 competition define it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.normalize import normalized_tokens
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed


def word_f1(prediction: str, references: Sequence[str]) -> float:
    """Best F1 in [0, 1] of the normalised words of ``prediction`` against any reference, as multisets."""
    return best_f1(normalized_tokens(prediction), [normalized_tokens(reference) for reference in references])


def best_f1(words: list[str], golds: Sequence[list[str]]) -> float:
    """``word_f1`` of what is cut already."""
    return max(_f1(words, gold) for gold in golds)


def _f1(words: list[str], gold: list[str]) -> float:
    shared = sum((Counter(words) & Counter(gold)).values()) if words and gold else 0
    return 2 * shared / (len(words) + len(gold)) if shared else 0.0


@Metric.register("f1")
class WordF1(Summed):
    """Mean word F1 in %, best reference each; on ConvAI2 a constant scores 22.98: print it beside."""

    def statistics(self, chunk: Chunk) -> list[tuple[float, float]]:
        """F1 and 1 of each reply; an empty prediction counts 0."""
        pairs = zip(chunk.predictions(normalized_tokens), chunk.references(normalized_tokens), strict=True)
        return [(100 * best_f1(words, golds), 1.0) for words, golds in pairs]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut and references chosen."""
        return {"norm": "parlai", "refs": "max", "avg": "reply"}
