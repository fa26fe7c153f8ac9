"""Self-chat: a model speaks both sides of many conversations at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from personae.drift.casting import Cast
from personae.errors import UserError
from personae.evaluation.speaker import Speaker, plan_batches
from personae.text.dialogue import PARTNER, SELF, Dialogue

PERSONA, CONTEXT = "persona", "context"


@dataclass
class Conversation:
    """What was said after ``opener``, which the first speaker hears; turn t (from 0) is said by ``t % 2``."""

    cast: Cast
    opener: str
    turns: list[str] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Who spoke last."""
        return (len(self.turns) - 1) % 2

    def heard(self, who: int, question: str | None = None) -> Dialogue:
        """What speaker ``who`` is to answer: the conversation so far and, where given, ``question``."""
        said = [(number % 2, text) for number, text in enumerate(self.turns)]
        lines = [(1, self.opener), *said, *([(1 - who, question)] if question is not None else [])]
        return Dialogue(
            sources={PERSONA: self.cast.personae[who], CONTEXT: tuple(text for _, text in lines)},
            roles={CONTEXT: tuple(SELF if speaker == who else PARTNER for speaker, _ in lines)},
            response="",
            conversation=self.cast.name,
        )


class Answering:
    """Lets ``speaker`` answer dialogues in batches of ``size``."""

    def __init__(self, speaker: Speaker, size: int, seed: int) -> None:
        self.speaker, self.size, self.seed = speaker, size, seed
        self.asked = 0

    def __call__(self, dialogues: Sequence[Dialogue]) -> list[str]:
        """The replies, in order. Raises ``UserError`` where the settings ask for more tokens than there is room."""
        packed = [self.speaker.packer.pack_sources(dialogue) for dialogue in dialogues]
        room = self.speaker.model.window["decoder"] + 1 - max(len(each.prompt) for each in packed)
        most = self.speaker.decoding.max_tokens
        if most > room:
            raise UserError(f"decoding.max_tokens={most}: a long conversation leaves the decoder room for {room}")
        replies: dict[int, str] = {}
        for batch in plan_batches(packed, self.size):
            said = self.speaker.say([packed[at] for at in batch], self.seed + self.asked)
            replies.update(zip(batch, said, strict=True))
            self.asked += len(batch)
        return [replies[at] for at in range(len(packed))]

    def lost(self) -> int:
        """Tokens of personae that did not fit, in all replies so far."""
        return self.speaker.packer.cuts.tokens.get(PERSONA, 0)


def take_turn(conversations: Sequence[Conversation], answer: Answering) -> None:
    """The next turn of every conversation."""
    replies = answer([each.heard(len(each.turns) % 2) for each in conversations])
    for conversation, reply in zip(conversations, replies, strict=True):
        conversation.turns.append(reply)
