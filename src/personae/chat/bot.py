"""Bot: one conversation with one persona."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from personae.chat.choice import Prefer
from personae.chat.service import Chat, Turn
from personae.decoding import Decoding
from personae.errors import UserError
from personae.evidence import Explained, Piece
from personae.text.dialogue import PARTNER, SELF

Pieces = Generator[Piece, None, None]


class Bot:
    """One conversation: it remembers what was said.

    ``decoding`` replaces the settings of the run; with ``prefer`` the best of ``decoding.copies`` replies is
    given, see ``Chat.reply``. With ``seed`` a sampled conversation can be repeated.
    ``persona`` may be changed at any time; ``reset`` forgets the conversation. Raises ``UserError`` for a
    persona of zero sentences.
    """

    def __init__(
        self,
        chat: Chat,
        persona: Sequence[str] = (),
        decoding: Decoding | None = None,
        seed: int | None = None,
        prefer: Prefer | None = None,
    ) -> None:
        chat.check_persona(persona)
        self.chat, self.decoding, self.seed, self.prefer = chat, decoding, seed, prefer
        self.persona = tuple(persona)
        self.history: list[Turn] = []
        self._spoke_as = self.persona

    @classmethod
    def load(
        cls,
        path: Path | str,
        persona: Sequence[str] = (),
        decoding: Decoding | None = None,
        seed: int | None = None,
        precision: str = "fp32",
    ) -> Self:
        """Load the best model of a run, see ``Chat.load``."""
        return cls(Chat.load(path, precision), persona, decoding, seed)

    def say(self, text: str) -> str:
        """Say something; return the reply. Raises ``UserError`` for an empty message."""
        return "".join(piece.text for piece in self.stream(text))

    def stream(self, text: str, explain: bool = False) -> Pieces:
        """Say something; yield the reply as it comes. Raises ``UserError`` for an empty message.

        What was heard enters the history at the end, also where the consumer stops early.
        """
        said = Turn(PARTNER, text)
        seed = None if self.seed is None else self.seed + len(self.history)
        chosen = () if self.prefer is None else (self.prefer,)
        pieces = self.chat.reply(self.persona, [*self.history, said], self.decoding, explain, seed, *chosen)
        return self._listen(said, pieces)

    def explain(self, text: str) -> Explained:
        """Say something; return the reply with the share of each source in every word, and of each text."""
        return self.why() if self.say(text).strip() else Explained("", ())

    def why(self) -> Explained:
        """Explain the last reply: what each sentence and turn has to do with it, by attention and by leave-one-out.

        Raises ``UserError`` where there is none.
        """
        if not self.history or self.history[-1].role != SELF:
            raise UserError("there is no reply to explain yet: say something first")
        *before, reply = self.history
        return self.chat.explain(replace(self.chat.dialogue(self._spoke_as, before), response=reply.text))

    def reset(self) -> None:
        """Forget what was said."""
        self.history.clear()

    def _listen(self, said: Turn, pieces: Pieces) -> Pieces:
        heard: list[str] = []
        self._spoke_as = tuple(self.persona)
        try:
            for piece in pieces:
                heard.append(piece.text)
                yield piece
        except (GeneratorExit, KeyboardInterrupt):
            pieces.close()
            self._remember(said, "".join(heard))
            raise
        self._remember(said, "".join(heard))

    def _remember(self, said: Turn, reply: str) -> None:
        self.history.append(said)
        if reply.strip():
            self.history.append(Turn(SELF, reply))
