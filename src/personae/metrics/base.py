"""Metric: one number over replies that are heard chunk by chunk, of which a tally keeps no more than it needs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from personae.metrics.bootstrap import Floats, Interval
from personae.metrics.paired import Paired
from personae.metrics.reply import Reply, Score
from personae.metrics.sample import Chunk, Sample, chunks
from personae.registry import Registrable

__all__ = ["Chunk", "Metric", "Reply", "Sample", "Score", "Tally", "measure_all"]


class Tally(ABC):
    """What one metric keeps of the replies that it has heard."""

    @abstractmethod
    def add(self, chunk: Chunk) -> None:
        """Hear a chunk. Raises ``UserError`` where a reply lacks what the metric needs."""

    @abstractmethod
    def score(self) -> Score:
        """The score of all that was heard. Raises ``UserError`` where that was nothing."""

    def by_conversation(self) -> Floats | None:
        """Statistics (G, K) in the order of the sample's names, for ``Metric.interval`` (None: it keeps none)."""
        return None


class Metric(Registrable, ABC):
    """One number over a list of replies.

    What a metric needs beside the replies it takes by keyword: ``Metric.build("embedding_average", vectors=path)``.
    Without it the metric can be built, but does not apply.
    """

    higher_is_better: ClassVar[bool | None] = True  # None: neither more nor less is
    default: ClassVar[bool] = True  # False: measured only where it is asked for by name
    reads_predictions: ClassVar[bool] = True  # False: it rests on gold replies alone, however the model speaks

    @abstractmethod
    def tally(self, sample: Sample) -> Tally:
        """An empty tally; ``sample`` hears every chunk before the tally does."""

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether ``replies`` have what the metric rests on."""
        return all(reply.references for reply in replies)

    def measure(self, replies: Iterable[Reply]) -> Score:
        """Score ``replies``. Raises ``UserError`` where what the metric needs is missing."""
        return measure_all({self.name: self}, replies)[self.name]

    def score(self, predictions: Iterable[str], references: Iterable[Sequence[str]]) -> Score:
        """Score plain texts; every prediction counts as a conversation of its own."""
        pairs = zip(predictions, references, strict=True)
        return self.measure(
            Reply(text, tuple(golds), conversation=str(number)) for number, (text, golds) in enumerate(pairs)
        )

    def interval(
        self, names: Sequence[str], value: float, runs: Sequence[Floats], less: Sequence[Floats] = ()
    ) -> Interval:
        """The 95 % interval of the mean over ``runs``, or of what it has over the mean over ``less``.

        ``names`` (G) of the conversations, ``value`` the mean or difference itself, ``runs`` and ``less`` what
        ``by_conversation`` gave, (G, K) of one run each. One draw serves all of them: the comparison is paired.
        """
        raise NotImplementedError(f"{self.name} keeps nothing by conversation")

    def paired(self, value: float, runs: Sequence[Floats], less: Sequence[Floats]) -> Paired:
        """The p-value and effect size of ``value``, what the mean over ``runs`` has over that over ``less``.

        ``runs``, ``less``: see ``interval``. Here: a metric that has no test.
        """
        return Paired()


def measure_all(
    metrics: Mapping[str, Metric], replies: Iterable[Reply], sample: Sample | None = None
) -> dict[str, Score]:
    """Score ``replies``, read once, by every one of ``metrics``; ``sample``, a new one, counts them for the caller."""
    heard = sample or Sample()
    tallies = {name: metric.tally(heard) for name, metric in metrics.items()}
    for chunk in chunks(replies, heard):
        for tally in tallies.values():
            tally.add(chunk)
    return {name: tally.score() for name, tally in tallies.items()}
