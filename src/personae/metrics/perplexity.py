"""Negative log-likelihood of the gold reply, per token, per word and per UTF-8 byte, always summed first."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric, Reply
from personae.metrics.bootstrap import Floats, ratio
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed


class Likelihood(Summed):
    """Sum of nats / sum of units over all replies, never a mean of per-reply or per-batch values.

    The nats include the end token whatever the unit; a word or byte count does not. The gold reply is the
    first reference.
    """

    higher_is_better = False
    reads_predictions = False
    unit: ClassVar[str]
    exponential: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def count(reply: Reply) -> int:
        """Units in the gold reply."""

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether every reply has its gold reply's likelihood."""
        return super().applies(replies) and all(reply.nats is not None for reply in replies)

    def statistics(self, chunk: Chunk) -> list[tuple[float, int]]:
        """Nats and units of each gold reply; each needs ``nats`` and ``tokens``."""
        return [(self._nats(at, reply), self.count(reply)) for at, reply in enumerate(chunk.replies, chunk.start)]

    def combine(self, sums: Floats) -> Floats:
        """Nats per unit, or the exponential of that."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(ratio(sums))) if self.exponential else ratio(sums)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """The unit, and how many of them were scored."""
        if not sums[1]:
            raise UserError(f"{self.name} has no {self.unit} to divide by: every gold reply is empty")
        return {"unit": self.unit, "units": int(sums[1]), "end": "scored", "avg": "micro"}

    def _nats(self, number: int, reply: Reply) -> float:
        if reply.nats is None or reply.tokens is None:
            raise UserError(
                f"{self.name} needs the gold reply's likelihood, but reply {number} has no nats and tokens: "
                f"evaluate with a model, or leave {self.name} out"
            )
        if not math.isfinite(reply.nats):
            raise UserError(
                f"{self.name} needs finite nats, but reply {number} has {reply.nats}: "
                "evaluate the model in float32 and check its weights"
            )
        return reply.nats


@Metric.register("nats_per_token")
class NatsPerToken(Likelihood):
    """Nats per token of the model's own vocabulary, end token counted: differs between vocabularies."""

    unit = "model-token"

    @staticmethod
    def count(reply: Reply) -> int:
        """Scored tokens, end token included."""
        return reply.tokens or 0


@Metric.register("perplexity_token")
class PerplexityToken(NatsPerToken):
    """exp(nats per token), end token counted: compare only models of the same vocabulary."""

    exponential = True


@Metric.register("nats_per_word")
class NatsPerWord(Likelihood):
    """Nats per blank-separated word of the gold reply as read."""

    unit = "blank-word"

    @staticmethod
    def count(reply: Reply) -> int:
        """Blank-separated words of the gold reply; the end token is not one."""
        return len(reply.references[0].split())


@Metric.register("perplexity_word")
class PerplexityWord(NatsPerWord):
    """exp(nats per blank-separated word): comparable between vocabularies on the same text."""

    exponential = True


@Metric.register("nats_per_byte")
class NatsPerByte(Likelihood):
    """Nats per UTF-8 byte of the gold reply: comparable between vocabularies and tokenised texts."""

    unit = "utf8-byte"

    @staticmethod
    def count(reply: Reply) -> int:
        """UTF-8 bytes of the gold reply."""
        return len(reply.references[0].encode())
