"""Every metric that applies, for a model and for the floors beside it, with what it was measured on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from personae.metrics import Metric, Reply, Score, measure_all
from personae.metrics.floors import Floor
from personae.metrics.hits import Ranked
from personae.text.dialogue import Dialogue

Fields = Mapping[str, object]
Scores = Mapping[str, Score]
Metrics = Mapping[str, Metric]
NO_MORE: Metrics = MappingProxyType({})


class Candidate:
    """Something that replied: a model or a floor. ``spoken`` says in its signatures how it came by its words.

    ``ranked`` says how it ranked candidates (None: as ``spoken`` does); ``only``: the one kind of metric that is
    meant for it (None: all).
    """

    def __init__(
        self,
        replies: Sequence[Reply],
        spoken: Fields,
        text: str | None = None,
        ranked: Fields | None = None,
        only: type[Metric] | None = None,
    ) -> None:
        self.replies, self.spoken, self.text, self.only = replies, spoken, text, only
        self.ranked = spoken if ranked is None else ranked

    def score(self, stamp: Fields, at: Sequence[int] | None = None, further: Metrics = NO_MORE) -> dict[str, Score]:
        """Every metric that applies, on all replies or those at the positions ``at``.

        ``stamp`` goes into each signature, ``spoken`` into those of metrics on the words said; ``further``:
        see ``applicable``.
        """
        replies = self.replies if at is None else [self.replies[each] for each in at]
        scores = measure_all(applicable(replies, further, self.only), replies)
        return {name: stamped(score, self._fields(name, stamp)) for name, score in scores.items()}

    def _fields(self, name: str, stamp: Fields) -> Fields:
        if issubclass(Metric.get(name), Ranked):
            return {**stamp, **self.ranked}
        return {**stamp, **self.spoken} if Metric.get(name).reads_predictions else stamp


def applicable(
    replies: Sequence[Reply], further: Metrics = NO_MORE, only: type[Metric] | None = None
) -> dict[str, Metric]:
    """Every metric measured by default, and of ``further``, that finds in ``replies`` what it rests on.

    ``only``: those of one kind (None: of any).
    """
    usual = {name: Metric.build(name) for name in Metric.names() if Metric.get(name).default}
    fit = {name: metric for name, metric in {**usual, **further}.items() if only is None or isinstance(metric, only)}
    return {name: metric for name, metric in fit.items() if metric.applies(replies)}


def stamped(score: Score, fields: Fields) -> Score:
    """``score`` with ``fields`` in its signature, before the version."""
    head, _, version = score.signature.rpartition("|v:")
    inserted = "".join(f"|{key}:{value}" for key, value in fields.items())
    return replace(score, signature=f"{head}{inserted}|v:{version}")


def make_floors(dialogues: Sequence[Dialogue], training: Sequence[Dialogue] | None) -> dict[str, Candidate]:
    """Every floor's replies to ``dialogues``; those found on the training split are left out without ``training``."""
    return {name: make_floor(name, dialogues, training) for name in floor_names(training is not None)}


def floor_names(trained: bool) -> list[str]:
    """The floors that can be made, with or without a training split."""
    return [name for name in Floor.names() if trained or not Floor.get(name).needs_training]


def make_floor(name: str, dialogues: Sequence[Dialogue], training: Sequence[Dialogue] | None) -> Candidate:
    """The replies of the floor called ``name``."""
    floor = Floor.build(name, training=training) if Floor.get(name).needs_training else Floor.build(name)
    return Candidate(floor.replies(dialogues), {"floor": name, **floor.facts()}, floor.text)


def as_plain(scores: Scores) -> dict[str, dict[str, Any]]:
    """Scores as dicts, for JSON."""
    return {
        name: {"value": each.value, "interval": each.interval, "signature": each.signature}
        for name, each in scores.items()
    }
