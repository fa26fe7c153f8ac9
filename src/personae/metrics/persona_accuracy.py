"""Share of right answers where the corpus knows the answer: by the source that the answer rests on."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from personae.errors import UserError
from personae.metrics.base import Metric, Reply
from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed

_WORDS = re.compile(r"\w+|[^\w\s]")


def is_right(prediction: str, answer: Sequence[str], others: Sequence[str] = ()) -> bool:
    """Whether ``prediction`` holds every string of ``answer`` and none of ``others``, as whole words.

    All texts are lower-cased and split into runs of word characters and single punctuation marks.
    """
    text = _spaced(prediction)
    return all(_spaced(one) in text for one in answer) and not any(_spaced(one) in text for one in others)


def _spaced(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.lower()))} "


class SourceAccuracy(Summed):
    """Share (0 to 1) of right answers among the replies whose tag ``kind`` is ``kind``.

    A reply is right if it holds all words of its ``answer`` and none of its tag ``others``: words joined by
    "|" that would make it wrong, such as the other values of the same family (no tag: no such words). In the
    signature ``n`` and ``conv`` count what was given, ``asked`` the replies of the kind.
    """

    needs_references = False
    kind: ClassVar[str]

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether any reply is of the kind."""
        return any(reply.tags.get("kind") == self.kind for reply in replies)

    def statistics(self, chunk: Chunk) -> list[tuple[bool, bool]]:
        """Whether each reply is right, and whether it is of the kind."""
        asked = [reply.tags.get("kind") == self.kind for reply in chunk.replies]
        return [(this and self._right(reply), this) for this, reply in zip(asked, chunk.replies, strict=True)]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """The kind, and how many replies are of it; a ``UserError`` where none is."""
        if not sums[1]:
            raise UserError(
                f"{self.name} needs replies with the tag kind '{self.kind}', but none has it:"
                " score a corpus that tags its replies, such as interview"
            )
        return {"kind": self.kind, "asked": int(sums[1]), "match": "words"}

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
