"""Every metric that applies, for a model and for the floors beside it, with what it was measured on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from personae.metrics import Metric, Reply, Score, measure_all
from personae.metrics.floors import CopyPersona, Floor
from personae.metrics.perplexity import Likelihood
from personae.text.dialogue import Dialogue

Fields = Mapping[str, object]
Scores = Mapping[str, Score]
Metrics = Mapping[str, Metric]
NO_MORE: Metrics = MappingProxyType({})


class Candidate:
    """Something that replied: a model or a floor. ``spoken`` says in its signatures how it came by its words."""

    def __init__(self, replies: Sequence[Reply], spoken: Fields, text: str | None = None) -> None:
        self.replies, self.spoken, self.text = replies, spoken, text

    def score(self, stamp: Fields, at: Sequence[int] | None = None, further: Metrics = NO_MORE) -> dict[str, Score]:
        """Every metric that applies, and those of ``further``, on all replies or those at the positions ``at``.

        ``stamp`` goes into each signature, ``spoken`` into those of metrics on the words said.
        """
        replies = self.replies if at is None else [self.replies[each] for each in at]
        return self._stamped(measure_all({**applicable(replies), **further}, replies), stamp)

    def gold(self, stamp: Fields, further: Metrics) -> dict[str, Score]:
        """``further`` on the gold replies, the first of each: what a human scores on the same data."""
        replies = [replace(reply, prediction=reply.references[0]) for reply in self.replies]
        return Candidate(replies, {"replies": "gold"})._stamped(measure_all(further, replies), stamp)

    def _stamped(self, scores: Scores, stamp: Fields) -> dict[str, Score]:
        return {name: stamped(score, self._fields(name, stamp)) for name, score in scores.items()}

    def _fields(self, name: str, stamp: Fields) -> Fields:
        return stamp if issubclass(Metric.get(name), Likelihood) else {**stamp, **self.spoken}


def applicable(replies: Sequence[Reply]) -> dict[str, Metric]:
    """Every metric that finds in ``replies`` what it rests on."""
    return {name: Metric.build(name) for name in Metric.names() if Metric.get(name).applies(replies)}


def stamped(score: Score, fields: Fields) -> Score:
    """``score`` with ``fields`` in its signature, before the version."""
    head, _, version = score.signature.rpartition("|v:")
    inserted = "".join(f"|{key}:{value}" for key, value in fields.items())
    return replace(score, signature=f"{head}{inserted}|v:{version}")


def make_floors(dialogues: Sequence[Dialogue], training: Sequence[Dialogue] | None) -> dict[str, Candidate]:
    """Every floor's replies to ``dialogues``; ``constant`` is left out without ``training`` to be found on."""
    names = [name for name in Floor.names() if name != "constant" or training is not None]
    return {name: make_floor(name, dialogues, training) for name in names}


def make_floor(name: str, dialogues: Sequence[Dialogue], training: Sequence[Dialogue] | None) -> Candidate:
    """The replies of the floor called ``name``."""
    floor = Floor.build(name, training=training) if name == "constant" else Floor.build(name)
    seed = {"seed": floor.seed} if isinstance(floor, CopyPersona) else {}
    text = floor.reply(dialogues[0], 0) if name.startswith("constant") else None
    return Candidate(floor.replies(dialogues), {"floor": name, **seed}, text)


def as_plain(scores: Scores) -> dict[str, dict[str, Any]]:
    """Scores as dicts, for JSON."""
    return {
        name: {"value": each.value, "interval": each.interval, "signature": each.signature}
        for name, each in scores.items()
    }
