"""Who replies: the predictions themselves, the floors that can be had from them alone, and the human."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from personae.evaluation.scores import Fields
from personae.metrics import Reply
from personae.metrics.floors import CopyPersona, Floor
from personae.text.dialogue import Dialogue

OWN = "predictions"
HUMAN = "human"
# Floors that rest on nothing but a line of the predictions, and the source that each copies.
FLOORS = {"constant:convai2": None, "copy_last": "context", "copy_persona": "persona"}


@dataclass(frozen=True)
class Voice:
    """``say(reply, index)`` is what it says instead of a reply; ``spoken`` what its signatures say of that.

    ``text`` is what it says to everything, where it does.
    """

    name: str
    say: Callable[[Reply, int], Reply]
    spoken: Fields = field(default_factory=dict)
    text: str | None = None

    def replies(self, replies: Iterable[Reply]) -> Iterator[Reply]:
        """What it says instead of ``replies``, one by one."""
        return (self.say(reply, index) for index, reply in enumerate(replies))


def voices(first: Sequence[Reply]) -> list[Voice]:
    """The predictions, each floor whose source the ``first`` of them have, and the human where it is known."""
    sources = {name for reply in first for name, texts in reply.sources.items() if texts}
    floors = [floor_voice(name) for name, source in FLOORS.items() if source is None or source in sources]
    known = all(reply.references for reply in first)
    return [Voice(OWN, lambda reply, _: reply), *floors, *([Voice(HUMAN, human, {"said": HUMAN})] if known else [])]


def floor_voice(name: str) -> Voice:
    """The floor called ``name``: its words, and nothing of what a model left in the predictions."""
    floor = Floor.build(name)
    seed = {"seed": floor.seed} if isinstance(floor, CopyPersona) else {}
    text = floor.reply(Dialogue({}, ""), 0) if name.startswith("constant") else None

    def say(reply: Reply, index: int) -> Reply:
        return instead(reply, floor.reply(Dialogue(reply.sources, ""), index))

    return Voice(name, say, {"floor": name, **seed}, text)


def human(reply: Reply, index: int) -> Reply:
    """The gold reply, without references: what it says and how, never how well it matches itself."""
    return replace(instead(reply, reply.references[0] if reply.references else ""), references=())


def instead(reply: Reply, text: str) -> Reply:
    """``text`` in the place of ``reply``; likelihoods and all else that came from a model are left out."""
    return Reply(text, reply.references, reply.conversation, reply.sources, answer=reply.answer, tags=reply.tags)
