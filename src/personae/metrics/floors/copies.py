"""Floors that repeat what is there: the last utterance, a persona sentence, the gold reply."""

import random
from collections.abc import Iterable, Mapping

from personae.metrics.base import Reply
from personae.metrics.floors.base import Floor
from personae.text.dialogue import Dialogue


@Floor.register("copy_last")
class CopyLast(Floor):
    """The last text of the context, word for word; empty where there is none."""

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """The last utterance before the reply."""
        context = dialogue.sources.get("context", ())
        return context[-1] if context else ""


@Floor.register("copy_persona")
class CopyPersona(Floor):
    """One persona sentence drawn by seed and index; empty where there is none."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def facts(self) -> Mapping[str, object]:
        """What draws the sentence."""
        return {"seed": self.seed}

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """A persona sentence, the same in every run."""
        persona = dialogue.sources.get("persona", ())
        return random.Random(f"{self.seed}:{index}").choice(persona) if persona else ""


@Floor.register("human")
class Human(Floor):
    """The gold reply, for what needs no reference: how varied and how long people's own replies are."""

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """The gold reply."""
        return dialogue.response

    def replies(self, dialogues: Iterable[Dialogue]) -> list[Reply]:
        """The gold replies without references and answers: compared with themselves they would say nothing."""
        return [Reply(each.response, (), each.conversation, each.sources) for each in dialogues]
