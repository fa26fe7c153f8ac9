"""C-score: how far replies follow from the persona, by the word of a judge that is given."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from personae.errors import UserError
from personae.metrics.base import Metric, Reply
from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk, Sample
from personae.metrics.summed import Summed, SumTally


class Claim(NamedTuple):
    """A persona sentence, the question ("" where there is none) and the reply that may follow from the sentence."""

    sentence: str
    question: str
    reply: str


class Judge(Protocol):
    """Tells whether replies follow from persona sentences; ``personae.consistency.Checker`` is one."""

    @property
    def fields(self) -> Mapping[str, object]:
        """Which judge it is and how far it can be trusted, for signatures."""

    def __call__(self, claims: Sequence[Claim]) -> Sequence[int]:
        """For each claim 1 (the sentence entails the reply), 0 (neutral) or -1 (they contradict each other)."""


def claims_of(persona: Sequence[str], question: str, reply: str) -> list[Claim]:
    """One claim for each persona sentence; none where the reply is empty, which says nothing."""
    if not reply.strip():
        return []
    return [Claim(sentence, question, reply) for sentence in persona if sentence.strip()]


@Metric.register("c_score")
class CScore(Summed):
    """Mean over replies of the sum over persona sentences of NLI(sentence, reply) in {+1, 0, -1}; needs a judge.

    After Madotto et al. 2019, Section 4.2. The question is the last text of the context. An empty reply counts 0.
    More is not always better, and the judge errs: print the value of the gold replies, and the judge's own
    accuracy, beside it. Without ``judge`` it never applies, and measuring is a ``UserError``.
    """

    default = False
    needs_references = False

    def __init__(self, judge: Judge | None = None) -> None:
        self.judge = judge

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether there is a judge, and a persona for every reply."""
        return self.judge is not None and all(reply.sources.get("persona") for reply in replies)

    def tally(self, sample: Sample) -> SumTally:
        """An empty tally. Raises ``UserError`` without a judge."""
        self._needed()
        return super().tally(sample)

    def statistics(self, chunk: Chunk) -> list[tuple[int, int]]:
        """C-score and 1 of each reply; all claims of the chunk are judged at once."""
        groups = [self._claims(reply) for reply in chunk.replies]
        signs = iter(self._needed()([claim for group in groups for claim in group]))
        return [(sum(next(signs) for _ in group), 1) for group in groups]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """What the judge says of itself."""
        return self._needed().fields

    def _needed(self) -> Judge:
        if self.judge is None:
            raise UserError(
                "c_score needs a judge: give --checker DIR, trained by personae checker train --out DIR "
                "(in Python Metric.build('c_score', judge=Checker.load(DIR)))"
            )
        return self.judge

    def _claims(self, reply: Reply) -> list[Claim]:
        persona, context = reply.sources.get("persona", ()), reply.sources.get("context", ())
        if not any(sentence.strip() for sentence in persona):
            raise UserError(
                f"c_score needs a persona, but a reply of conversation '{reply.conversation}' has none: "
                "score data with personae, or leave the checker out"
            )
        return claims_of(persona, context[-1] if context else "", reply.prediction)
