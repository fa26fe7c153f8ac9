"""Average length of the replies."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.normalize import words_without_articles
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed


@Metric.register("length")
class Length(Summed):
    """Mean number of blank-separated words of a reply, as said."""

    needs_references = False
    higher_is_better = None
    norm: ClassVar[str] = "none"

    def words(self, chunk: Chunk) -> Sequence[Sequence[str]]:
        """The words of each reply."""
        return chunk.predictions(str.split)

    def statistics(self, chunk: Chunk) -> list[tuple[int, int]]:
        """Words and 1 of each reply."""
        return [(len(words), 1) for words in self.words(chunk)]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut."""
        return {"norm": self.norm, "tok": "blank", "avg": "reply"}


@Metric.register("cao_length")
class CaoLength(Length):
    """Cao et al.'s average length: words without a/an/the; an empty reply counts as one word, as in their code."""

    default = False
    norm = "lower-no-articles"

    def words(self, chunk: Chunk) -> Sequence[Sequence[str]]:
        """Words without articles."""
        return chunk.predictions(words_without_articles)
