"""Perplexity as the ConvAI2 competition defines it: of words, among the words of a dictionary."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats, ratio
from personae.metrics.reply import Reply, WordNats
from personae.metrics.sample import Chunk, Sample
from personae.metrics.summed import Summed, SumTally


@Metric.register("convai2_perplexity")
class ConvAI2Perplexity(Summed):
    """exp(nats per word) of the gold reply's words among those of a dictionary, the competition's perplexity.

    The reply is lower-cased and cut at blanks and around . , ; : ! ?. A word's probability, given the words
    before it, is its mass over that of all words of the dictionary; words outside are read but not scored, the end
    is not scored. Of a model with pieces of words the mass is the product of the pieces' probabilities, the blank
    before the word in the first; that the word ends there is not part of it. Where the dictionary's mass is known
    only to lie between bounds, the upper one is taken: ``over_at_most`` is how much lower, in nats per word, the
    value may be. The competition's four special words count nothing here.
    """

    width = 4
    needs_references = False
    default = False
    higher_is_better = False
    reads_predictions = False

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether an evaluation was asked for it."""
        return all(reply.word_nats is not None for reply in replies)

    def tally(self, sample: Sample) -> "DictionaryTally":
        """An empty tally."""
        return DictionaryTally(self, sample)

    def statistics(self, chunk: Chunk) -> list[tuple[float, int, float, int]]:
        """Nats, scored words, slack and skipped words of each gold reply."""
        known = [word_nats(self.name, reply, at) for at, reply in enumerate(chunk.replies, chunk.start)]
        return [(each.nats, each.words, each.slack, each.skipped) for each in known]

    def combine(self, sums: Floats) -> Floats:
        """exp(nats / words)."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(ratio(sums[:, :2])))

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How many words were scored and passed over, and how exact the value is."""
        _, words, slack, skipped = sums.tolist()
        if not words:
            raise UserError(f"{self.name} has no word to score: no gold reply has a word of the dictionary")
        counted = {"unit": "dictionary-word", "words": int(words), "outside": int(skipped), "end": "not-scored"}
        return {**counted, "avg": "micro", "over_at_most": f"{slack / words:.3f}-nats"}


class DictionaryTally(SumTally):
    """Sums by conversation, and which dictionary they rest on."""

    def __init__(self, metric: Summed, sample: Sample) -> None:
        super().__init__(metric, sample)
        self.dictionaries: set[str] = set()

    def add(self, chunk: Chunk) -> None:
        """Add the statistics of ``chunk``. Raises ``UserError`` for replies scored with different dictionaries."""
        super().add(chunk)
        self.dictionaries |= {reply.word_nats.dictionary for reply in chunk.replies if reply.word_nats}
        if len(self.dictionaries) > 1:
            raise UserError(f"{self.metric.name}: the replies were scored with different dictionaries: use one")

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """With the dictionary's hash."""
        return {**super().fields(sums), "dictionary": ",".join(self.dictionaries)}


def word_nats(name: str, reply: Reply, number: int) -> WordNats:
    """What the evaluation found. Raises ``UserError`` where it was not asked."""
    if reply.word_nats is None:
        raise UserError(
            f"{name} needs a model and a dictionary, but reply {number} has no nats by word: "
            f"run personae evaluate RUN --metrics {name} --dictionary FILE"
        )
    if not math.isfinite(reply.word_nats.nats):
        raise UserError(f"{name}: reply {number} has {reply.word_nats.nats} nats: check the model's weights")
    return reply.word_nats
