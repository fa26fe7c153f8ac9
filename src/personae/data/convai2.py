"""ConvAI2 and PersonaChat text files: numbered lines, tabs between turn, reply and candidates."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from personae.data.base import Reader
from personae.data.files import first_line, read_text, require_format
from personae.text.dialogue import PARTNER, SELF, Dialogue

OWN = "your persona: "
OTHER = "partner's persona: "


@dataclass
class _Talk:
    """The dialogue being read; ``broken`` once a line of it could not be understood."""

    line: int
    number: int = 0
    persona: list[str] = field(default_factory=list)
    partner: list[str] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    broken: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(SELF if i % 2 else PARTNER for i in range(len(self.context)))


@Reader.register("convai2")
class ConvAI2(Reader):
    """ConvAI2 and PersonaChat text: personas self, both, other or none, with or without candidates.

    Line number 1 begins a dialogue; no two dialogues are merged. Sources are ``persona`` (empty where the
    file gives none), ``context`` (every utterance so far) and, from the first ``partner's persona`` line of
    the file on, ``partner_persona``. Texts are as read. ``distractors`` are the candidates of this very turn.

    With ``on_error="skip"`` a malformed line leaves out its dialogue from there on, since the later turns
    would lack it; a reply that is not among its candidates leaves out that one example. Unreadable files
    and files of another format are a ``UserError`` either way.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".txt",)

    @classmethod
    def recognises(cls, path: Path, head: str) -> bool:
        """Whether the first line is number 1 with a persona sentence or a tab."""
        number, _, rest = first_line(head).partition(" ")
        return number == "1" and (rest.startswith((OWN, OTHER)) or "\t" in rest)

    def read(self, path: Path) -> Iterator[Dialogue]:
        """Yield one Dialogue per partner turn. Raises ``UserError`` as the class says."""
        require_format(type(self), path)
        talk = _Talk(line=0, broken=True)
        names_partner = False
        for at, line in enumerate(read_text(path), 1):
            text = line.rstrip("\r\n")
            if not text.strip():
                continue
            number, _, rest = text.partition(" ")
            if number == "1":
                self._finish(path, talk)
                talk = _Talk(line=at)
            elif talk.line == 0:
                talk.line = at
                self._break(path, at, "a dialogue that begins with line number 1", talk)
            if talk.broken or not self._in_order(path, at, number, talk):
                continue
            if rest.startswith((OWN, OTHER)):
                names_partner = names_partner or rest.startswith(OTHER)
                self._persona(path, at, rest, talk)
            else:
                yield from self._turn(path, at, rest, talk, names_partner)
        self._finish(path, talk)

    def _in_order(self, path: Path, at: int, number: str, talk: _Talk) -> bool:
        talk.number += 1
        if number == str(talk.number):
            return True
        self._break(path, at, f"a line that begins with number {talk.number} (or 1 for a new dialogue)", talk)
        return False

    def _persona(self, path: Path, at: int, rest: str, talk: _Talk) -> None:
        if talk.context:
            self._break(path, at, "persona lines before the first utterance of a dialogue", talk)
        elif rest.startswith(OWN):
            talk.persona.append(rest.removeprefix(OWN))
        else:
            talk.partner.append(rest.removeprefix(OTHER))

    def _turn(self, path: Path, at: int, rest: str, talk: _Talk, names_partner: bool) -> Iterator[Dialogue]:
        fields = rest.split("\t")
        if not 2 <= len(fields) <= 4:
            self._break(path, at, "utterance, reply, reward and candidates, a tab between them", talk)
            return
        talk.context.append(fields[0])
        distractors = self._distractors(path, at, fields)
        if distractors is not None:
            sources = {"persona": tuple(talk.persona), "context": tuple(talk.context)}
            if names_partner:
                sources["partner_persona"] = tuple(talk.partner)
            name = f"{path.name}:{talk.line}"
            roles = {"context": talk.roles}
            yield Dialogue(sources, fields[1], distractors=distractors, roles=roles, conversation=name)
        talk.context.append(fields[1])

    def _distractors(self, path: Path, at: int, fields: list[str]) -> tuple[str, ...] | None:
        """The candidates without one occurrence of the gold reply; None where it is not among them."""
        candidates = fields[3].split("|") if len(fields) == 4 and fields[3] else []
        if not candidates:
            return ()
        if fields[1] not in candidates:
            self.malformed(path, at, "the reply to be one of its candidates")
            return None
        # The gold is the last candidate, so of two equal ones the last goes.
        candidates.reverse()
        candidates.remove(fields[1])
        return tuple(reversed(candidates))

    def _finish(self, path: Path, talk: _Talk) -> None:
        if not (talk.context or talk.broken):
            self._break(path, talk.line, "an utterance in the dialogue that begins here", talk)

    def _break(self, path: Path, at: int, expected: str, talk: _Talk) -> None:
        talk.broken = True
        self.malformed(path, at, expected)
