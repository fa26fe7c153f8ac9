"""Opening text files: what can be wrong with a file is said once, in one line."""

import codecs
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from personae.data.base import Reader
from personae.errors import UserError, nearest

HEAD_BYTES = 65_536


def read_text(path: Path, blank: bool = False) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, line ends kept, without holding the file.

    Only ``\\n`` ends a line. A byte-order mark is left out. A file that is missing, unreadable, a
    directory, empty or not UTF-8 text is a ``UserError``; one of blank lines too, unless ``blank``.
    """
    empty = True
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = _decode(path, number, raw)
                empty = empty and not blank and not line.strip()
                yield line
    except OSError as error:
        _cannot_open(path, error)
    if empty:
        raise UserError(f"{path} is empty")


def read_head(path: Path) -> str:
    """Return the first characters of ``path`` (of 64 KiB). Raises as :func:`read_text` does."""
    try:
        with path.open("rb") as file:
            raw = file.read(HEAD_BYTES)
    except OSError as error:
        _cannot_open(path, error)
    try:
        # Not final: the 64 KiB may end inside a character.
        head = codecs.getincrementaldecoder("utf-8-sig")().decode(raw)
    except UnicodeDecodeError:
        _not_text(path, raw)
    if "\0" in head:
        _not_text(path, raw)
    return head


def first_line(head: str) -> str:
    """Return the first line of ``head`` that is not blank, without its end; "" where there is none."""
    return next((line.rstrip("\r") for line in head.split("\n") if line.strip()), "")


def one_line(text: str) -> str:
    """Return ``text``, which comes from a file, fit for a one-line message."""
    return " ".join(text.split())


def readers_for(path: Path) -> list[str]:
    """Return the names of the readers that recognise ``path``. Raises as :func:`read_text` does."""
    head = read_head(path)
    if not head.strip():
        raise UserError(f"{path} is empty")
    return [name for name in Reader.names() if Reader.get(name).recognises(path, head)]


def guess_reader(path: Path) -> str:
    """Return the name of the one reader that recognises ``path``.

    None or several is a ``UserError`` that lists the readers; an unreadable file one as in
    :func:`read_text`.
    """
    found = readers_for(path)
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{path} could be read by several readers: name one of {', '.join(found)}")
    raise UserError(f"no reader recognises {path}: name one of {', '.join(Reader.names())}")


def require_format(reader: type[Reader], path: Path) -> None:
    """Raise a ``UserError`` that names the right reader where ``path`` is plainly of another format.

    A file that no reader recognises passes: the reader then says which line is wrong. An unreadable
    file is a ``UserError`` as in :func:`read_text`.
    """
    found = readers_for(path)
    if found and reader.name not in found:
        raise UserError(f"{path} is not for reader '{reader.name}': it looks like '{found[0]}'")


def _decode(path: Path, number: int, raw: bytes) -> str:
    try:
        line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        _not_text(path, raw, f" (line {number}, byte {error.start + 1})")
    if "\0" in line:
        _not_text(path, raw, f" (line {number})")
    return line


def _not_text(path: Path, raw: bytes, where: str = "") -> NoReturn:
    kind = "a binary file" if b"\0" in raw else "not UTF-8 text"
    todo = "give a UTF-8 text file" if b"\0" in raw else "convert it, for instance with iconv -t UTF-8"
    raise UserError(f"{path} is {kind}{where}: {todo}") from None


def _cannot_open(path: Path, error: OSError) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        listed = os.access(path.parent, os.R_OK | os.X_OK)
        there = [entry.name for entry in path.parent.iterdir()] if listed else []
        hint = nearest(path.name, there)
        raise UserError(f"no such file: {path}{hint and '.'}{hint}") from error
    if isinstance(error, IsADirectoryError) or path.is_dir():
        raise UserError(f"{path} is a directory: give a file") from error
    raise UserError(f"cannot read {path}: {error.strerror}") from error
