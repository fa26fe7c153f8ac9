"""Predictions on disk, read anew as often as needed and never held: JSON Lines, or text with a reply a line."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from personae.data.files import read_text
from personae.errors import UserError
from personae.evaluation.predictions import each_prediction
from personae.metrics import Reply

SHORT = 12
LINE = "line"  # every line counts as a conversation of its own
CONVERSATION = "conversation"
WHOLE = 1 << 26  # a file up to so many bytes is parsed to tell JSON from text


@dataclass(frozen=True)
class Surveyed:
    """A file as it was when it was first read: ``lines`` ends with or without a line end."""

    path: Path
    lines: int
    sha256: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"path": str(self.path), "sha256": self.sha256, "lines": self.lines}


class Predictions(ABC):
    """Replies that can be iterated again and again; ``files`` by role, ``unit`` what intervals are drawn by."""

    files: dict[str, Surveyed]
    unit: str

    @abstractmethod
    def __iter__(self) -> Iterator[Reply]:
        """The replies in file order. Raises ``UserError`` for a line that cannot be read."""

    @property
    def stamp(self) -> dict[str, object]:
        """What every signature says: hashes of the files in the order of their roles, and the unit."""
        return {"data": "+".join(each.sha256[:SHORT] for each in self.files.values()), "drawn": self.unit}

    @property
    def lines(self) -> int:
        """Lines of the predictions, blank ones too."""
        return self.files["predictions"].lines


class JsonLines(Predictions):
    """A file as ``personae evaluate`` writes it; a reply that names no conversation is one of its own."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, {"predictions": survey(path)}
        self.unit = CONVERSATION if next(each_prediction(path)).conversation else LINE

    def __iter__(self) -> Iterator[Reply]:
        for number, reply in enumerate(each_prediction(self.path), 1):
            yield reply if reply.conversation else replace(reply, conversation=f"reply {number}")


class TextLines(Predictions):
    """Text files with as many lines each: replies, their references, the names of their conversations."""

    def __init__(self, predictions: Path, references: Path | None = None, conversations: Path | None = None) -> None:
        given = {"predictions": predictions, "references": references, "conversations": conversations}
        self.files = {role: survey(path) for role, path in given.items() if path is not None}
        self.unit = LINE if conversations is None else CONVERSATION
        check_aligned(list(self.files.values()))

    def __iter__(self) -> Iterator[Reply]:
        texts = text_lines(self.files["predictions"].path)
        for text, golds, name in zip(texts, self._golds(), self._names(), strict=True):
            yield Reply(text, golds, name)

    def _golds(self) -> Iterator[tuple[str, ...]]:
        """The references of each line: those between tabs that are not blank, or one blank reference."""
        if "references" not in self.files:
            yield from [()] * self.lines
            return
        for line in text_lines(self.files["references"].path):
            yield tuple(text for text in line.split("\t") if text.strip()) or ("",)

    def _names(self) -> Iterator[str]:
        if "conversations" not in self.files:
            yield from (f"line {number}" for number in range(1, self.lines + 1))
            return
        path = self.files["conversations"].path
        for number, line in enumerate(text_lines(path), 1):
            if not line.strip():
                raise UserError(f"{path}:{number}: expected the name of the line's conversation")
            yield line.strip()


def open_predictions(
    predictions: Path, references: Path | None = None, conversations: Path | None = None
) -> Predictions:
    """The replies of ``predictions``, whose format is told from its content.

    ``references`` and ``conversations`` go with a text file: a line each for every reply, several references of
    a reply separated by tabs. Raises ``UserError`` for files that are missing, empty, no text, not aligned, or the
    same file twice.
    """
    check_apart([path for path in (predictions, references, conversations) if path is not None])
    if is_json_lines(predictions):
        for path, key in ((references, "references"), (conversations, "conversation")):
            if path is not None:
                raise UserError(
                    f"{predictions} is JSON Lines, which hold their own '{key}': leave out {path}, or give text files"
                )
        return JsonLines(predictions)
    for path in (references, conversations):
        if path is not None and is_json_lines(path):
            raise UserError(f"{path} is JSON Lines, but beside a text file it must be text with a line for each reply")
    return TextLines(predictions, references, conversations)


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text file without their ends, ``\\n`` or ``\\r\\n``; blank lines are lines."""
    for line in read_text(path, blank=True):
        yield line.removesuffix("\n").removesuffix("\r")


def survey(path: Path) -> Surveyed:
    """Hash and lines of ``path``; a last line without its end is a line."""
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            lines += block.count(b"\n")
            last = block[-1:]
    return Surveyed(path, lines + (last != b"\n"), digest.hexdigest())


def check_apart(paths: Sequence[Path]) -> None:
    """Refuse what cannot be read again and again, and one file in two roles."""
    for at, path in enumerate(paths):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UserError(f"{path} is no file on disk, and it is read several times: write it to a file first")
        next(read_text(path, blank=True))
        if any(path.samefile(other) for other in paths[:at]):
            raise UserError(f"{path} is given twice: predictions, references and conversations are files of their own")


def check_aligned(files: Sequence[Surveyed]) -> None:
    """Refuse files of different numbers of lines."""
    first = files[0]
    for other in files[1:]:
        if other.lines != first.lines:
            raise UserError(
                f"{first.path} has {first.lines:,} lines but {other.path} has {other.lines:,}: they must be aligned"
                f" line by line{blank_end(first.path, other.path)}"
            )


def blank_end(*paths: Path) -> str:
    """A hint at files whose last line is blank: it counts as a reply."""
    found = []
    for path in paths:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4))
            found += [str(path)] if file.read().replace(b"\r", b"").endswith(b"\n\n") else []
    return f" (the last line of {' and of '.join(found)} is blank)" if found else ""


def is_json_lines(path: Path) -> bool:
    """Whether ``path`` holds an object on each line. JSON of another shape is a ``UserError``."""
    first = next(text_lines(path)).strip()
    if path.suffix == ".jsonl" or first.startswith('{"') or isinstance(parsed(first), dict):
        whole = first == "{" and is_json(path)
    else:
        whole = path.suffix == ".json" or (first[:1] in ("[", "{") and is_json(path))
        if not whole:
            return False
    if whole:
        raise UserError(f"{path} is JSON but no JSON Lines: write one object on each line, as `personae evaluate` does")
    return True


def is_json(path: Path) -> bool:
    """Whether the whole of ``path`` is one JSON list or object."""
    if path.stat().st_size > WHOLE:
        return False
    return isinstance(parsed(path.read_text(encoding="utf-8-sig", errors="replace")), list | dict)


def parsed(text: str) -> Any:
    """``text`` as JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
