"""Word vectors from a file that the user names: GloVe or word2vec text, or npz.

Shapes: V words, D dimensions, M words of a text that have a vector.
"""

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from personae.errors import UserError

Vectors = npt.NDArray[np.float32]
FORMS = "give GloVe or word2vec text (a word and its numbers a line), or an npz of `words` (V) and `vectors` (V, D)"


class WordVectors:
    """Vectors (V, D) by word; ``digest`` names the file in signatures."""

    def __init__(self, words: Sequence[str], vectors: Vectors, digest: str) -> None:
        self.rows = {word: row for row, word in reversed(list(enumerate(words)))}  # the first of two counts
        self.vectors, self.digest = vectors, digest

    def of(self, words: Sequence[str]) -> Vectors:
        """The vectors (M, D) of those ``words`` that have one, in their order."""
        return self.vectors[[self.rows[word] for word in words if word in self.rows]]


@lru_cache(maxsize=1)
def load_vectors(path: Path) -> WordVectors:
    """Read ``path``; the file read last is kept. Raises ``UserError`` for a file of another form."""
    try:
        words, vectors = _npz(path) if path.suffix == ".npz" else _text(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, UnicodeDecodeError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"cannot read word vectors from {path}: {error}; {FORMS}") from error
    if vectors.ndim != 2 or not vectors.size or len(words) != len(vectors) or not np.isfinite(vectors).all():
        raise UserError(f"{path} has no finite vector for each of its words; {FORMS}")
    return WordVectors(words, vectors, digest[:12])


def _npz(path: Path) -> tuple[list[str], Vectors]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return [str(word) for word in file["words"]], np.asarray(file["vectors"], np.float32)
    except ValueError as error:
        raise UserError(f"{path} is not an npz of plain arrays: {error}; {FORMS}") from error


def _text(path: Path) -> tuple[list[str], Vectors]:
    """Words may hold blanks, as some of GloVe's do: the last D fields are the numbers."""
    words: list[str] = []
    blocks: list[Vectors] = []
    with path.open(encoding="utf-8") as file:
        size = _dimensions(file, path)
        for start, lines in _blocks(file):
            parts = [line.rstrip().rsplit(" ", size) for line in lines]
            words += [part[0] for part in parts]
            try:
                blocks.append(np.array([part[1:] for part in parts], np.float32).reshape(-1, size))
            except ValueError as error:
                end = start + len(lines) - 1
                raise UserError(f"{path}, lines {start}-{end}: not a word and {size} numbers each; {FORMS}") from error
    return words, np.concatenate(blocks) if blocks else np.zeros((0, size), np.float32)


def _dimensions(file: TextIO, path: Path) -> int:
    """D by the header "V D" of word2vec, which is passed over, or by the first line."""
    first = file.readline().split()
    header = len(first) == 2 and all(part.isdigit() for part in first)
    if not header:
        file.seek(0)
    size = int(first[1]) if header else len(first) - 1
    if size < 1:
        raise UserError(f"{path}, line 1: no word with its numbers; {FORMS}")
    return size


def _blocks(file: TextIO, size: int = 4096) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank, ``size`` at a time, with the number of the first since the header."""
    block: list[str] = []
    for number, line in enumerate(file, 1):
        if line.strip():
            block.append(line)
        if len(block) == size:
            yield number - size + 1, block
            block = []
    if block:
        yield number - len(block) + 1, block
