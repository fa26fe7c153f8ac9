"""The ConvAI2 competition's dictionary: every word of its texts and replies."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from personae.data.convai2 import OWN
from personae.data.files import guess_reader, one_line, read_text
from personae.data.load import load
from personae.errors import UserError
from personae.text.dialogue import Dialogue

APART = str.maketrans({sign: f" {sign} " for sign in ".,;:!?"})
SHORT = 12


def split_words(text: str) -> list[str]:
    """The words of ``text`` as the competition cuts them: lower case, . , ; : ! ? apart, then at blanks."""
    return text.lower().translate(APART).split()


def build_dictionary(paths: Sequence[Path], reader: str | None = None) -> list[str]:
    """Every word of the files' sources and replies, the commonest first, candidates left out.

    As in the competition the words that mark a persona in a ConvAI2 file count. Its four special words (unknown,
    null, start, end) are no words that a model says and are left out: of train and valid of ConvAI2 its 19,304
    entries are these and 19,300 words. Raises ``UserError`` for a file that cannot be read.
    """
    counts: Counter[str] = Counter()
    for path in paths:
        name = reader or guess_reader(path)
        for text in texts(load([path], name).dialogues, OWN if name == "convai2" else ""):
            counts.update(split_words(text))
    return sorted(counts, key=lambda word: (-counts[word], word))


def texts(dialogues: Sequence[Dialogue], persona: str) -> Iterator[str]:
    """Every text of the dialogues' sources, each persona sentence after ``persona``, and every reply."""
    for dialogue in dialogues:
        for source, said in dialogue.sources.items():
            yield from (f"{persona}{text}" if source == "persona" else text for text in said)
        yield from dialogue.golds


def read_dictionary(path: Path) -> list[str]:
    """The words of a file with one on each line; a tab and what follows is passed over.

    Raises ``UserError`` for a file that cannot be read, a line of several words, and a word that stands twice or
    that ``split_words`` would cut or change.
    """
    words: dict[str, int] = {}
    for at, line in enumerate(read_text(path), 1):
        word = line.rstrip("\r\n").partition("\t")[0]
        if not word.strip():
            continue
        if split_words(word) != [word]:
            raise UserError(
                f"{path}:{at}: expected one word in lower case, without blanks or . , ; : ! ? in it, "
                f"not '{one_line(word)[:40]}'; personae data dictionary writes such a file"
            )
        if word in words:
            raise UserError(f"{path}:{at}: '{word}' stood on line {words[word]} already: take one out")
        words[word] = at
    return list(words)


def write_dictionary(path: Path, words: Sequence[str]) -> None:
    """Write ``words``, one a line, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    fresh.replace(path)


def dictionary_hash(words: Sequence[str]) -> str:
    """A short hash of the words, whatever their order."""
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:SHORT]
