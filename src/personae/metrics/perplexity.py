"""Negative log-likelihood of the gold reply, per token, per word and per UTF-8 byte, always summed first."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric, Reply, Score
from personae.metrics.bootstrap import BOOTSTRAP, bootstrap_ratio
from personae.metrics.checks import conversations, require_references
from personae.metrics.signature import sample_signature


class Likelihood(Metric):
    """Sum of nats / sum of units over all replies, never a mean of per-reply or per-batch values.

    The nats include the end token whatever the unit; a word or byte count does not. The gold reply is the
    first reference.
    """

    higher_is_better = False
    unit: ClassVar[str]
    exponential: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def count(reply: Reply) -> int:
        """Units in the gold reply."""

    def measure(self, replies: Sequence[Reply]) -> Score:
        """Score ``replies``; each needs ``nats`` and ``tokens``."""
        require_references(self.name, replies)
        nats = [self._nats(number, reply) for number, reply in enumerate(replies)]
        units = [self.count(reply) for reply in replies]
        if not sum(units):
            raise UserError(f"{self.name} has no {self.unit} to divide by: every gold reply is empty")
        value = math.fsum(nats) / sum(units)
        interval = bootstrap_ratio(nats, units, conversations(replies))
        bounds = interval and (self._scale(interval[0]), self._scale(interval[1]))
        return Score(self._scale(value), self._signature(replies, sum(units)), bounds)

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

    def _scale(self, nats: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(nats)) if self.exponential else nats

    def _signature(self, replies: Sequence[Reply], total: int) -> str:
        fields = {"unit": self.unit, "units": total, "end": "scored", "avg": "micro", "ci": BOOTSTRAP}
        return sample_signature(self.name, replies, **fields)


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
