"""What a data file holds, in numbers, and how far two files share personas."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import Any

from personae.data.base import OnError, Reader
from personae.data.files import guess_reader
from personae.errors import UserError
from personae.text.dialogue import Dialogue

PersonaSet = frozenset[str]


@dataclass(frozen=True)
class Spread:
    """Mean, median and maximum of a quantity over the examples."""

    mean: float
    median: float
    maximum: int

    @classmethod
    def of(cls, values: Sequence[int]) -> "Spread":
        """Sum up ``values``, of which there must be one."""
        return cls(mean(values), float(median(values)), max(values))


@dataclass(frozen=True)
class SourceReport:
    """One source over the examples that have it: how many texts, how many words (split at blanks)."""

    examples: int
    texts: Spread
    words: Spread


@dataclass(frozen=True)
class FileReport:
    """One file. ``empty_turns`` counts examples with a blank reply or a blank text in a source;
    ``duplicates`` those whose sources and reply all stood in an earlier example; ``with_candidates`` is a
    share of the examples; ``skipped`` names what was left out, and why."""

    path: str
    reader: str
    conversations: int
    examples: int
    persona_sets: int
    sources: Mapping[str, SourceReport]
    reply_words: Spread
    with_candidates: float
    duplicates: int
    empty_turns: int
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Overlap:
    """Personas that two files share: how much of ``second`` is known to who trained on ``first``.

    A persona is the set of its sentences in any order, without case and punctuation, since data sets differ
    in these; an empty one counts as no persona. ``examples_share`` is the share of the examples of
    ``second`` with a shared persona, ``sentences_share`` of its distinct sentences that ``first`` has.
    """

    first: str
    second: str
    persona_sets: int
    examples_share: float
    sentences: int
    sentences_share: float


@dataclass(frozen=True)
class DataReport:
    """The report on each file, and on each pair of files in the order given."""

    files: tuple[FileReport, ...]
    overlaps: tuple[Overlap, ...]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and texts, for JSON."""
        return asdict(self)


def check(paths: Sequence[Path], reader: str | None = None, on_error: OnError = "raise") -> DataReport:
    """Read ``paths`` to the end and report what they hold.

    Each file's reader is guessed unless ``reader`` names one. No path, an unknown reader, a file that cannot
    be read or has no example, and (with ``on_error="raise"``) a malformed line are a ``UserError``.
    """
    if not paths:
        raise UserError("no file to check: give one or more data files")
    tallies = [_tally(path, reader or guess_reader(path), on_error) for path in paths]
    overlaps = tuple(_overlap(first, second) for first, second in combinations(tallies, 2))
    return DataReport(tuple(tally.report() for tally in tallies), overlaps)


@dataclass
class _Tally:
    """What is counted of a file while it is read."""

    path: Path
    reader: Reader
    conversations: set[str] = field(default_factory=set)
    seen: set[tuple[Any, ...]] = field(default_factory=set)
    personas: Counter[tuple[str, ...]] = field(default_factory=Counter)
    texts: dict[str, list[int]] = field(default_factory=dict)
    words: dict[str, list[int]] = field(default_factory=dict)
    reply_words: list[int] = field(default_factory=list)
    with_candidates: int = 0
    empty_turns: int = 0

    def add(self, dialogue: Dialogue) -> None:
        self.conversations.add(dialogue.conversation)
        self.seen.add((*sorted(dialogue.sources.items()), dialogue.response))
        self.personas[dialogue.sources.get("persona", ())] += 1
        for name, texts in dialogue.sources.items():
            self.texts.setdefault(name, []).append(len(texts))
            self.words.setdefault(name, []).append(_words(texts))
        self.reply_words.append(_words([dialogue.response]))
        self.with_candidates += bool(dialogue.distractors)
        turns = [dialogue.response, *(text for texts in dialogue.sources.values() for text in texts)]
        self.empty_turns += any(not turn.strip() for turn in turns)

    def persona_sets(self) -> Counter[PersonaSet]:
        """The examples of each persona set, the empty one left out."""
        sets: Counter[PersonaSet] = Counter()
        for sentences, examples in self.personas.items():
            if sentences:
                sets[persona_set(sentences)] += examples
        return sets

    def report(self) -> FileReport:
        examples = len(self.reply_words)
        return FileReport(
            path=str(self.path),
            reader=self.reader.name,
            conversations=len(self.conversations),
            examples=examples,
            persona_sets=len(self.persona_sets()),
            sources={name: self._source(name) for name in sorted(self.texts)},
            reply_words=Spread.of(self.reply_words),
            with_candidates=self.with_candidates / examples,
            duplicates=examples - len(self.seen),
            empty_turns=self.empty_turns,
            skipped=tuple(self.reader.skipped),
        )

    def _source(self, name: str) -> SourceReport:
        texts = self.texts[name]
        return SourceReport(len(texts), Spread.of(texts), Spread.of(self.words[name]))


def _tally(path: Path, reader: str, on_error: OnError) -> _Tally:
    tally = _Tally(path, Reader.build(reader, on_error=on_error))
    for dialogue in tally.reader.read(path):
        tally.add(dialogue)
    if not tally.reply_words:
        left_out = tally.reader.skipped
        why = f": {len(left_out)} left out, first {left_out[0]}" if left_out else ""
        raise UserError(f"{path} holds no example{why}")
    return tally


def _overlap(first: _Tally, second: _Tally) -> Overlap:
    known, asked = first.persona_sets(), second.persona_sets()
    shared = known.keys() & asked.keys()
    sentences = frozenset[str]().union(*asked)
    shared_sentences = sentences & frozenset[str]().union(*known)
    return Overlap(
        first=str(first.path),
        second=str(second.path),
        persona_sets=len(shared),
        examples_share=sum(asked[persona] for persona in shared) / len(second.reply_words),
        sentences=len(shared_sentences),
        sentences_share=len(shared_sentences) / len(sentences) if sentences else 0.0,
    )


def persona_set(sentences: Iterable[str]) -> PersonaSet:
    """The persona of ``sentences`` in any order, without case and punctuation: equal for equal personas."""
    return frozenset(map(_plain, sentences))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)
