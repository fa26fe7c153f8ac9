"""DailyDialog as one reply per line: the turns before it, a tab, the reply."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from personae.data.base import Reader
from personae.data.dstc7_avsd import TURN, roles_of, texts_of
from personae.data.files import first_line, read_text, require_format
from personae.text.dialogue import Dialogue


@Reader.register("dailydialog")
class DailyDialog(Reader):
    """DailyDialog text: ``turn __eou__ turn TAB reply``; its one source is ``context``.

    The last turn of the context is the partner's, and speakers alternate back from it. The file has no ids: a
    line belongs to the conversation of the line above where its context begins with all that was said there,
    the reply included. Conversations are named by their first line. Texts are as read, less blanks around them.

    With ``on_error="skip"`` a malformed line is left out. Unreadable files and files of another format are a
    ``UserError`` either way.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".valid", ".test", ".train", ".txt")

    @classmethod
    def recognises(cls, path: Path, head: str) -> bool:
        """Whether the first line has two fields, none of them blank, and turns end in ``__eou__``."""
        fields = first_line(head).split("\t")
        return len(fields) == 2 and all(map(str.strip, fields)) and TURN in head

    def read(self, path: Path) -> Iterator[Dialogue]:
        """Yield one Dialogue per line. Raises ``UserError`` as the class says."""
        require_format(type(self), path)
        said: tuple[str, ...] = ()
        name = ""
        for at, line in enumerate(read_text(path), 1):
            fields = line.rstrip("\r\n").split("\t")
            if not line.strip():
                continue
            if len(fields) != 2:
                self.malformed(path, at, "turns and the reply, a tab between them")
                continue
            context, reply = texts_of(fields[0]), fields[1].strip()
            if not all((*context, reply)):
                self.malformed(path, at, f"no blank text between '{TURN}' or the tab")
                continue
            if not said or context[: len(said)] != said:
                name = f"{path.name}:{at}"
            said = (*context, reply)
            yield Dialogue({"context": context}, reply, roles={"context": roles_of(context)}, conversation=name)
