"""DSTC7-AVSD as text: what a video shows, the dialogue about it and the answers, a tab between them."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from personae.data.base import Reader
from personae.data.files import first_line, read_text, require_format
from personae.text.dialogue import PARTNER, SELF, Dialogue

TURN = "__eou__"
ANSWER = " | "
# Ours: the data describe the video, never who answers.
PERSONA = ("i have watched the video .", "i answer questions about it .")


@Reader.register("dstc7-avsd")
class Dstc7Avsd(Reader):
    """DSTC7-AVSD text: ``knowledge TAB context TAB answers``, of which the first is the reply.

    Sentences of the knowledge and turns of the context stand between ``__eou__``, answers between ``|``: the
    first is the ``response``, further ones (the test file has six in all) are ``references``. The last turn of
    the context is the partner's question, and speakers alternate back from it. The data name no persona: the
    source ``persona`` is the same two sentences everywhere, written for this toolkit, so that methods of three
    sources can be shown. The file has no ids: lines with the same knowledge are one conversation, named by the
    first of them.

    With ``on_error="skip"`` a malformed line is left out. Unreadable files and files of another format are a
    ``UserError`` either way.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".test", ".valid", ".train", ".txt")

    @classmethod
    def recognises(cls, path: Path, head: str) -> bool:
        """Whether the first line has three fields, none of them blank, and turns end in ``__eou__``."""
        fields = first_line(head).split("\t")
        return len(fields) == 3 and all(map(str.strip, fields)) and TURN in head

    def read(self, path: Path) -> Iterator[Dialogue]:
        """Yield one Dialogue per line. Raises ``UserError`` as the class says."""
        require_format(type(self), path)
        names: dict[str, str] = {}
        for at, line in enumerate(read_text(path), 1):
            fields = line.rstrip("\r\n").split("\t")
            if not line.strip():
                continue
            if len(fields) != 3:
                self.malformed(path, at, "knowledge, context and answers, a tab between them")
                continue
            knowledge, context = texts_of(fields[0]), texts_of(fields[1])
            answers = tuple(text.strip() for text in fields[2].split(ANSWER))
            if not all((*knowledge, *context, *answers)):
                self.malformed(path, at, f"no blank text between '{TURN}', '{ANSWER.strip()}' or tabs")
                continue
            name = names.setdefault(fields[0], f"{path.name}:{at}")
            sources = {"persona": PERSONA, "context": context, "knowledge": knowledge}
            yield Dialogue(sources, answers[0], answers[1:], roles={"context": roles_of(context)}, conversation=name)


def texts_of(field: str) -> tuple[str, ...]:
    """The texts of a field, without the blanks around them."""
    return tuple(text.strip() for text in field.split(TURN))


def roles_of(turns: tuple[str, ...]) -> tuple[str, ...]:
    """Who said each of ``turns``, the last of which is the partner's."""
    return tuple(SELF if back % 2 else PARTNER for back in range(len(turns) - 1, -1, -1))
