"""Share of right answers where the corpus knows the answer: by the source that the answer rests on."""

import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric, Reply, Score
from personae.metrics.bootstrap import BOOTSTRAP, bootstrap_ratio
from personae.metrics.checks import conversations, require_replies
from personae.metrics.signature import sample_signature

_WORDS = re.compile(r"\w+|[^\w\s]")


def is_right(prediction: str, answer: Sequence[str], others: Sequence[str] = ()) -> bool:
    """Whether ``prediction`` holds every string of ``answer`` and none of ``others``, as whole words.

    All texts are lower-cased and split into runs of word characters and single punctuation marks.
    """
    text = _spaced(prediction)
    return all(_spaced(one) in text for one in answer) and not any(_spaced(one) in text for one in others)


def _spaced(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.lower()))} "


class SourceAccuracy(Metric):
    """Share (0 to 1) of right answers among the replies whose tag ``kind`` is ``kind``.

    A reply is right if it holds all words of its ``answer`` and none of its tag ``others``: words joined by
    "|" that would make it wrong, such as the other values of the same family (no tag: no such words). In the
    signature ``n`` and ``conv`` count what was given, ``asked`` the replies of the kind.
    """

    kind: ClassVar[str]

    def measure(self, replies: Sequence[Reply]) -> Score:
        """Score ``replies``; a ``UserError`` where none is of the kind, or one has no answer."""
        require_replies(self.name, replies)
        asked = np.array([reply.tags.get("kind") == self.kind for reply in replies])
        if not asked.any():
            raise UserError(
                f"{self.name} needs replies with the tag kind '{self.kind}', but none of {len(replies)}"
                " has it: score a corpus that tags its replies, such as interview"
            )
        right = np.array([this and self._right(reply) for this, reply in zip(asked, replies, strict=True)])
        stamp = sample_signature(
            self.name, replies, kind=self.kind, asked=int(asked.sum()), match="words", ci=BOOTSTRAP
        )
        interval = bootstrap_ratio(right, asked, conversations(replies))
        return Score(float(right.sum() / asked.sum()), stamp, interval)

    def _right(self, reply: Reply) -> bool:
        if not reply.answer:
            raise UserError(
                f"{self.name} needs an answer for each reply of kind '{self.kind}', but one of conversation"
                f" '{reply.conversation}' has none"
            )
        others = [word for word in reply.tags.get("others", "").split("|") if word]
        return is_right(reply.prediction, reply.answer, others)


@Metric.register("persona_accuracy")
class PersonaAccuracy(SourceAccuracy):
    """Share of right answers to questions about the persona."""

    kind = "persona"


@Metric.register("context_accuracy")
class ContextAccuracy(SourceAccuracy):
    """Share of right answers to questions about what the partner said earlier."""

    kind = "context"


@Metric.register("both_accuracy")
class BothAccuracy(SourceAccuracy):
    """Share of right answers to questions that need persona and context at once."""

    kind = "both"
