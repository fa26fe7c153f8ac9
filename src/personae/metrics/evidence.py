"""Whether the texts that weigh most in a reply are those that it rests on, as the corpus knows them.

Shapes: N replies of a chunk, K statistics.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric, Reply
from personae.metrics.bootstrap import Floats
from personae.metrics.reply import Weighed
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed


class EvidenceMetric(Summed):
    """A mean over the replies with known evidence, by what texts weigh in the ``views``.

    A reply counts (``asked``) where the corpus knows which texts it rests on, the turn that it answers aside, where
    there are at least two texts to choose from, and where every view has a weight for each.
    """

    default = False
    needs_references = False
    views: ClassVar[tuple[str, ...]]

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether any reply counts."""
        return any(self.counts(reply.weighed) for reply in replies)

    @classmethod
    def counts(cls, weighed: Weighed | None) -> bool:
        """Whether a reply is one to ask about."""
        if weighed is None or not weighed.sought:
            return False
        weights = [weighed.others(view) for view in cls.views]
        return all(len(each) > 1 and None not in each for each in weights)

    def statistics(self, chunk: Chunk) -> list[tuple[float, ...]]:
        """Statistics (K) of each reply, 0 for one that does not count."""
        nothing = (0.0,) * self.width
        return [
            self.judge(reply.weighed) if reply.weighed is not None and self.counts(reply.weighed) else nothing
            for reply in chunk.replies
        ]

    def judge(self, weighed: Weighed) -> tuple[float, ...]:
        """Statistics of a reply that counts: its value, 1, and any more."""
        raise NotImplementedError

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How many replies counted; a ``UserError`` where none did."""
        if not sums[1]:
            raise UserError(
                f"{self.name} needs replies whose evidence is known and weighed, but there is none: "
                "use `personae explain RUN --data FILE --score` on a corpus that knows it, such as interview"
            )
        return {"asked": int(sums[1]), "aside": "question", "ties": "expected"}


class EvidenceAccuracy(EvidenceMetric):
    """Share (0 to 1) of replies whose heaviest text is one that they rest on; beside it in the signature ``chance``.

    Of equally heavy texts each counts its part. ``question_first``: the share of replies in which the turn answered,
    which stands aside, outweighs all other texts.
    """

    width = 4

    def judge(self, weighed: Weighed) -> tuple[float, ...]:
        """Right, 1, what a blind choice would get, and whether the question outweighs the rest."""
        (view,) = self.views
        weights = floats(weighed.others(view))
        best, right = heaviest(weights), set(weighed.sought)
        question = None if weighed.question is None else getattr(weighed, view)[weighed.question]
        first = question is not None and question > max(weights)
        return len(best & right) / len(best), 1.0, len(right) / len(weights), float(first)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """Also the chance level."""
        known = super().fields(sums)
        return {**known, "chance": f"{sums[2] / sums[1]:.4f}", "question_first": f"{sums[3] / sums[1]:.4f}"}


@Metric.register("evidence_accuracy_attention")
class AttentionAccuracy(EvidenceAccuracy):
    """Share of replies whose heaviest text by attention is one that they rest on."""

    views = ("attention",)


@Metric.register("evidence_accuracy_leave_one_out")
class LeaveOneOutAccuracy(EvidenceAccuracy):
    """Share of replies whose heaviest text by leave-one-out is one that they rest on."""

    views = ("leave_one_out",)


class EvidenceAgreement(EvidenceMetric):
    """What compares attention and leave-one-out."""

    views = ("attention", "leave_one_out")


@Metric.register("evidence_agreement")
class TopAgreement(EvidenceAgreement):
    """Share of replies in which attention and leave-one-out have the same heaviest text, among those with evidence."""

    width = 3

    def judge(self, weighed: Weighed) -> tuple[float, ...]:
        """Whether they agree, 1, and how often two blind choices would."""
        one, other = (heaviest(floats(weighed.others(view))) for view in self.views)
        return len(one & other) / (len(one) * len(other)), 1.0, 1 / len(weighed.others(self.views[0]))

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """Also the chance level."""
        known = super().fields(sums)
        return {**known, "chance": f"{sums[2] / sums[1]:.4f}"}


@Metric.register("evidence_correlation")
class RankCorrelation(EvidenceAgreement):
    """Mean over replies of Spearman's rank correlation between attention and leave-one-out; chance is 0.

    A reply in which a view weighs all texts alike has none and does not count.
    """

    @classmethod
    def counts(cls, weighed: Weighed | None) -> bool:
        """Whether both views tell texts apart."""
        return super().counts(weighed) and weighed is not None and all(len({*weighed.others(v)}) > 1 for v in cls.views)

    def judge(self, weighed: Weighed) -> tuple[float, ...]:
        """The correlation and 1."""
        one, other = (ranks(floats(weighed.others(view))) for view in self.views)
        return float(np.corrcoef(one, other)[0, 1]), 1.0


def floats(weights: Sequence[float | None]) -> list[float]:
    """Weights that are all known."""
    return [weight for weight in weights if weight is not None]


def heaviest(weights: Sequence[float]) -> set[int]:
    """Positions of the largest weights."""
    most = max(weights)
    return {at for at, weight in enumerate(weights) if weight == most}


def ranks(weights: Sequence[float]) -> Floats:
    """Ranks from 1; equal weights share the mean of theirs."""
    values = np.asarray(weights, float)
    below = (values[:, None] > values).sum(1)
    alike = (values[:, None] == values).sum(1)
    return np.asarray(below + (alike + 1) / 2, float)
