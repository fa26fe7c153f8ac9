"""Floor: a reply made without any model."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeVar

from personae.metrics.base import Reply
from personae.registry import Registrable
from personae.text.dialogue import Dialogue

T = TypeVar("T")


class Floor(Registrable, ABC):
    """A reply made without any model.

    ``needs_training``: it is found on the training split, its option ``training``; ``text``: what it always says.
    """

    needs_training: ClassVar[bool] = False
    text: str | None = None

    @abstractmethod
    def reply(self, dialogue: Dialogue, index: int) -> str:
        """Reply to ``dialogue``, the one at ``index`` (0-based) of its file."""

    def facts(self) -> Mapping[str, object]:
        """What the signatures of its numbers say beside its name."""
        return {}

    def replies(self, dialogues: Iterable[Dialogue]) -> list[Reply]:
        """Reply to every dialogue, ready for ``Metric.measure``; no likelihoods, since there is no model."""
        return [
            Reply(
                prediction=self.reply(dialogue, index),
                references=dialogue.golds,
                conversation=dialogue.conversation,
                sources=dialogue.sources,
                answer=dialogue.answer,
                tags=dialogue.tags,
            )
            for index, dialogue in enumerate(dialogues)
        ]


def spread(items: Sequence[T], size: int) -> list[T]:
    """At most ``size`` of ``items``, evenly spaced."""
    count = min(size, len(items))
    return [items[at * len(items) // count] for at in range(count)]
