"""Exact match: what ParlAI calls accuracy."""

from collections.abc import Mapping

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.normalize import normalized_tokens
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed


@Metric.register("exact_match")
class ExactMatch(Summed):
    """Replies in % that equal a reference once both are ParlAI-normalised: ParlAI's accuracy."""

    default = False

    def statistics(self, chunk: Chunk) -> list[tuple[float, float]]:
        """100 or 0, and 1, of each reply; two texts that normalise to nothing are equal."""
        pairs = zip(chunk.predictions(normalized_tokens), chunk.references(normalized_tokens), strict=True)
        return [(100.0 * (words in golds), 1.0) for words, golds in pairs]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How texts are normalised and references chosen."""
        return {"norm": "parlai", "refs": "any", "avg": "reply"}
