"""Metrics that need more of a model than its replies: measured only when they are named."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from personae.data.dictionary import read_dictionary
from personae.errors import UserError
from personae.evaluation.dictionary import WordScorer
from personae.evaluation.forced import force
from personae.evaluation.predictions import Said, make_reply
from personae.evaluation.speaker import Speaker
from personae.metrics import Metric, Reply
from personae.metrics.convai2 import ConvAI2Perplexity
from personae.metrics.hits import Ranked
from personae.metrics.teacher_forced import TeacherForcedMacroF1
from personae.text.dialogue import Dialogue
from personae.text.pack import Packed

T = TypeVar("T")
Tell = Callable[[str, int, int], None]
FORCED, WORDS = TeacherForcedMacroF1.name, ConvAI2Perplexity.name
TOLERANCE = 0.01
EVERY = 20  # replies between two words on progress


@dataclass(frozen=True)
class Further:
    """What an evaluation is asked for by name.

    ``metrics``: names, of which the usual ones need not be there; ``built``: metrics that are more than a name, such
    as a ``c_score`` with its judge; ``dictionary``: file of the words of
    ``convai2_perplexity``; ``tolerance``: how far its mass may be known only by bounds, in nats (None: 0.01).
    Raises ``UserError`` for an unknown metric, and for a dictionary or tolerance that nothing needs.
    """

    metrics: tuple[str, ...] = ()
    dictionary: Path | None = None
    tolerance: float | None = None
    built: Mapping[str, Metric] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.metrics:
            Metric.get(name)
        if (WORDS in self.metrics) != (self.dictionary is not None):
            raise UserError(f"--metrics {WORDS} and --dictionary FILE go together: see personae data dictionary")
        if self.tolerance is not None and self.dictionary is None:
            raise UserError(f"--tolerance is for {WORDS}: give --metrics {WORDS} and --dictionary FILE too")
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise UserError(f"--tolerance {self.tolerance}: give nats from 0, which is exact and slow, to below 1")

    @property
    def all(self) -> Mapping[str, Metric]:
        """Every metric that was asked for."""
        return {**{name: Metric.build(name) for name in self.metrics}, **self.built}

    @cached_property
    def words(self) -> list[str]:
        """The dictionary."""
        assert self.dictionary is not None
        return read_dictionary(self.dictionary)

    def check(self, dialogues: Sequence[Dialogue], ranked: bool = False) -> None:
        """Refuse, before anything is computed, what cannot be measured on ``dialogues``; ``ranked``: candidates are."""
        if self.dictionary is not None:
            self.words  # noqa: B018  (read now: a file that cannot be read is told before hours of work)
        replies = [make_reply(dialogue, Said("", 0.0, 1)) for dialogue in dialogues]
        for name in self.all:
            ranks = issubclass(Metric.get(name), Ranked)
            if ranks and not ranked:
                raise UserError(f"--metrics {name} ranks candidates: give --candidates likelihood or head too")
            if not ranks and name not in (FORCED, WORDS) and not self.all[name].applies(replies):
                raise UserError(f"--metrics {name}: the data lack what it rests on, or personae score measures it")

    def add(
        self, speaker: Speaker, packed: Sequence[Packed], replies: Sequence[Reply], tell: Tell | None
    ) -> list[Reply]:
        """``replies`` with what the metrics need."""
        given = list(replies)
        if FORCED in self.metrics:
            found = told(force(speaker, packed), "teacher forcing", len(packed), tell)
            given = [replace(reply, forced=each) for reply, each in zip(given, found, strict=True)]
        if WORDS in self.metrics:
            scorer = WordScorer(speaker, self.words, TOLERANCE if self.tolerance is None else self.tolerance)
            pairs = zip(packed, replies, strict=True)
            scores = (scorer.score(each, reply.references[0]) for each, reply in pairs)
            found_words = told(scores, "words of the dictionary", len(packed), tell)
            given = [replace(reply, word_nats=each) for reply, each in zip(given, found_words, strict=True)]
        return given


def told(found: Iterable[T], stage: str, of: int, tell: Tell | None) -> Iterator[T]:
    """Pass ``found`` on, telling how far it is."""
    for done, each in enumerate(found, 1):
        yield each
        if tell and (done % EVERY == 0 or done == of):
            tell(stage, done, of)
