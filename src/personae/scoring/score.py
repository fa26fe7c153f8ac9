"""Predictions scored by every metric asked for, beside the floors that they allow and the human replies."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from personae._version import __version__
from personae.evaluation.scores import Scores, as_plain, stamped
from personae.metrics import Metric, Reply, measure_all
from personae.metrics.sample import CHUNK, Sample
from personae.scoring.choice import choose
from personae.scoring.files import CONVERSATION, LINE, Predictions
from personae.scoring.voices import HUMAN, OWN, Voice, voices

Tell = Callable[[str, int, int], None]
UNITS = {
    CONVERSATION: "conversation: {:,} are named",
    LINE: "line: no conversation is named, so each counts as one of its own; too narrow where lines share one",
}


@dataclass(frozen=True)
class Scoring:
    """Scores of predictions, of the floors and of the human replies, each by the metrics that apply to them.

    ``floor_texts``: what a constant floor says; ``facts``: what was scored and how; ``notes``: in sentences.
    """

    predictions: Scores
    floors: Mapping[str, Scores]
    human: Scores
    floor_texts: Mapping[str, str]
    facts: Mapping[str, Any]
    notes: Sequence[str]

    @property
    def rows(self) -> dict[str, Scores]:
        """The predictions, each floor, and the human replies, for one table."""
        return {OWN: self.predictions, **self.floors, **({HUMAN: self.human} if self.human else {})}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            OWN: as_plain(self.predictions),
            "floors": {name: as_plain(scores) for name, scores in self.floors.items()},
            HUMAN: as_plain(self.human),
            "floor_texts": dict(self.floor_texts),
            "notes": list(self.notes),
            **self.facts,
        }


class Heard:
    """Passes replies on, counts the empty ones, and tells how far it is."""

    def __init__(self, stage: str, lines: int, tell: Tell | None) -> None:
        self.stage, self.lines, self.tell = stage, lines, tell
        self.empty = self.empty_golds = 0

    def __call__(self, replies: Iterator[Reply]) -> Iterator[Reply]:
        """``replies``, one by one."""
        for number, reply in enumerate(replies):
            if self.tell and number % CHUNK == 0:
                self.tell(self.stage, number, self.lines)
            self.empty += not reply.prediction.strip()
            self.empty_golds += any(not gold.strip() for gold in reply.references)
            yield reply


def score(
    predictions: Predictions,
    names: Sequence[str] | None = None,
    vectors: Path | None = None,
    tell: Tell | None = None,
) -> Scoring:
    """Score ``predictions`` by the metrics called ``names`` (None: all that apply), beside the floors.

    The file is read once for each row of the table and never held. Which metrics apply and which floors can be
    had is decided on its first replies; ``vectors`` is a file of word vectors for the metrics that compare them;
    ``tell(row, done, of)`` hears of progress. Raises ``UserError`` for what cannot be read, for an unknown metric
    and for one that a reply lacks something for.
    """
    first = list(islice(predictions, CHUNK))
    metrics = choose(first, names, vectors)
    sample, heard = Sample(), Heard(OWN, predictions.lines, tell)
    own, *others = voices(first)
    rows = {OWN: measure(own, metrics, predictions, heard, sample)}
    for voice in others:
        fitting = applying(metrics, voice, first)
        if fitting:
            rows[voice.name] = measure(voice, fitting, predictions, Heard(voice.name, predictions.lines, tell))
    return Scoring(
        predictions=rows.pop(OWN),
        human=rows.pop(HUMAN, {}),
        floors=rows,
        floor_texts={voice.name: voice.text for voice in others if voice.text is not None and voice.name in rows},
        facts=facts(predictions, sample),
        notes=notes(heard, sample),
    )


def measure(
    voice: Voice, metrics: Mapping[str, Metric], predictions: Predictions, heard: Heard, sample: Sample | None = None
) -> dict[str, Any]:
    """The scores of what ``voice`` says, with what they were measured on in their signatures."""
    scores = measure_all(metrics, heard(voice.replies(predictions)), sample)
    return {name: stamped(each, {**predictions.stamp, **voice.spoken}) for name, each in scores.items()}


def applying(metrics: Mapping[str, Metric], voice: Voice, first: Sequence[Reply]) -> dict[str, Metric]:
    """Those of ``metrics`` that what ``voice`` says has what they rest on for."""
    said = list(voice.replies(first))
    return {name: metric for name, metric in metrics.items() if metric.applies(said)}


def facts(predictions: Predictions, sample: Sample) -> dict[str, Any]:
    """What was scored, and with what."""
    return {
        "data": {role: each.as_dict() for role, each in predictions.files.items()},
        "replies": sample.replies,
        "conversations": sample.conversations,
        "unit": predictions.unit,
        "versions": {
            "personae": __version__,
            "python": platform.python_version(),
            "sacrebleu": version("sacrebleu"),
        },
    }


def notes(heard: Heard, sample: Sample) -> list[str]:
    """What a reader should know of the replies."""
    found = {"replies are empty": heard.empty, "replies have an empty reference": heard.empty_golds}
    return [f"{count:,} of {sample.replies:,} {what}: scored as they are" for what, count in found.items() if count]
