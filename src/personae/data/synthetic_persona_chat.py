"""Synthetic-Persona-Chat: a CSV file with two personas and one generated conversation in each row."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from personae.data.base import Reader
from personae.data.files import first_line, one_line, read_text, require_format
from personae.errors import UserError
from personae.text.dialogue import PARTNER, SELF, Dialogue

COLUMNS = ("user 1 personas", "user 2 personas", "Best Generated Conversation")
# A label may be marked up: "User 1: ...", "*User 1:* ...", "* User 1: ... *".
LABEL = re.compile(r"(?P<star>\*{0,2}) ?User (?P<speaker>[12]):(?P<closed>\*{0,2})[ \t]*(?P<text>.*)")
STAGE = re.compile(r"\s*(\[|\(|\*\S.*\*\s*$)")
RULE = re.compile(r"[\s*_=~-]*")


class Utterance(NamedTuple):
    """What one of the two users (0 or 1) said."""

    speaker: int
    text: str


@Reader.register("synthetic-persona-chat")
class SyntheticPersonaChat(Reader):
    """Synthetic-Persona-Chat CSV, each conversation read from both sides.

    Every utterance with an earlier one is an example for its speaker: ``persona`` is the speaker's own,
    roles are relative to the speaker, and both sides share one ``conversation`` (the row's first line).
    Texts are as read, less the label and its markup. An utterance may be followed by one of the same user.

    The conversations are model output, and not all of it is dialogue. Lines of blanks, stars and dashes only
    are separators. Stage directions (a line in brackets, parentheses or stars) and text before the first
    label are spoken by nobody: they are left out and listed in ``skipped`` whatever ``on_error`` is, so that
    a report shows them. Any other unlabelled line continues the utterance above it, after a line break.

    With ``on_error="skip"`` a malformed row is left out whole. Unreadable files, files of another format and
    one without its columns or rows are a ``UserError`` either way.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    @classmethod
    def recognises(cls, path: Path, head: str) -> bool:
        """Whether the first line holds the three column names."""
        return set(COLUMNS) <= set(next(csv.reader([first_line(head)]), []))

    def read(self, path: Path) -> Iterator[Dialogue]:
        """Yield the examples of each row in turn order. Raises ``UserError`` as the class says."""
        require_format(type(self), path)
        line = 0
        for line, row in self._rows(path):
            first, second = (tuple(filter(str.strip, re.split(r"\r?\n", cell))) for cell in row[:2])
            utterances = self._utterances(path, line, row[2])
            if not (first and second):
                self.malformed(path, line, f"persona sentences in '{COLUMNS[0]}' and '{COLUMNS[1]}'")
            elif len(utterances) < 2:
                self.malformed(path, line, "a conversation of lines that begin 'User 1:' or 'User 2:'")
            else:
                yield from _sides((first, second), utterances, f"{path.name}:{line}")
        if not line:
            raise UserError(f"{path} holds a header and no conversation")

    def _rows(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        """Yield each row's first line number and its three cells."""
        rows = csv.reader(read_text(path), strict=True)
        places: list[int] = []
        while True:
            line = rows.line_num + 1
            try:
                row = next(rows, None)
            except csv.Error as error:
                self.malformed(path, line, f"a row of CSV ({error})")
                continue
            if row is None:
                return
            if not places:
                places = _places(path, row)
            elif row and len(row) <= max(places):
                self.malformed(path, line, f"the columns {', '.join(COLUMNS)}, not {len(row)} cells")
            elif row:
                yield line, [row[place] for place in places]

    def _utterances(self, path: Path, line: int, cell: str) -> list[Utterance]:
        """The labelled utterances of one conversation that begins in the row at ``line``."""
        found: list[tuple[int, list[str]]] = []
        for text in re.split(r"\r?\n", cell):
            label = LABEL.match(text)
            if label:
                found.append((int(label["speaker"]) - 1, [_spoken(label)]))
            elif RULE.fullmatch(text):
                if found:
                    found[-1][1].append("")
            elif STAGE.match(text) or not found:
                self.skipped.append(f"{path}:{line}: left out a line that nobody speaks: {one_line(text)}")
            else:
                found[-1][1].append(text)
        return [Utterance(speaker, "\n".join(lines).rstrip("\n")) for speaker, lines in found]


def _places(path: Path, header: Sequence[str]) -> list[int]:
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        there = one_line(", ".join(header))
        raise UserError(f"{path}:1: expected the column '{missing[0]}'; there are: {there}")
    return [header.index(name) for name in COLUMNS]


def _spoken(label: re.Match[str]) -> str:
    """The text after a label, less the star that closes a line opened by one."""
    text = label["text"]
    opened = label["star"] and not label["closed"]
    return re.sub(r"\s*\*+\s*$", "", text) if opened else text


def _sides(personas: Sequence[tuple[str, ...]], said: Sequence[Utterance], name: str) -> Iterator[Dialogue]:
    texts = tuple(utterance.text for utterance in said)
    for i, (speaker, text) in enumerate(said[1:], 1):
        sources = {"persona": personas[speaker], "context": texts[:i]}
        roles = tuple(SELF if earlier.speaker == speaker else PARTNER for earlier in said[:i])
        yield Dialogue(sources, text, roles={"context": roles}, conversation=name)
