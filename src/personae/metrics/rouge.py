"""ROUGE-L as the COCO caption tools compute it (Lin 2004)."""

from collections.abc import Mapping, Sequence

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed

BETA = 1.2  # how much recall counts


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Its length, by the bit-parallel rule of Hyyro (2004): a row of the table is one number."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    row = full = (1 << len(one)) - 1
    for word in other:
        same = row & places.get(word, 0)
        row = ((row + same) | (row - same)) & full
    return len(one) - row.bit_count()


def rouge_l(words: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    """F in [0, 1] of the best precision and the best recall, each over all references; 0 if nothing is shared."""
    shared = [longest_common_subsequence(words, gold) for gold in golds]
    if not max(shared):
        return 0.0
    precision = max(shared) / len(words)
    recall = max(common / len(gold) for common, gold in zip(shared, golds, strict=True) if gold)
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


@Metric.register("rouge_l")
class RougeL(Summed):
    """ROUGE-L of the COCO caption tools, 0 to 1: mean F of the longest common subsequence, recall weighs 1.2 times."""

    default = False

    def statistics(self, chunk: Chunk) -> list[tuple[float, float]]:
        """F and 1 of each reply."""
        pairs = zip(chunk.predictions(str.split), chunk.references(str.split), strict=True)
        return [(rouge_l(words, golds), 1.0) for words, golds in pairs]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut and references chosen."""
        return {"tok": "blank", "beta": BETA, "refs": "best-p-best-r", "avg": "reply"}
