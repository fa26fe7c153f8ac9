"""A model and the floors, scored on the same examples by the same metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from personae.errors import UserError
from personae.evaluation.familiar import training_data, unseen_personas
from personae.evaluation.ranks import rank_floors, ranked
from personae.evaluation.scores import NO_MORE, Candidate, Fields, Metrics, Scores, as_plain, floor_names, make_floors
from personae.runs import Run
from personae.text.dialogue import Dialogue

Tell = Callable[[str, int, int], None]
MODEL = "model"


@dataclass(frozen=True)
class Unseen:
    """The examples whose persona is not in the training data, and the scores on them alone."""

    examples: int
    share: float
    training: int
    scores: Mapping[str, Scores]

    def as_dict(self) -> dict[str, Any]:
        """For ``scores.json``."""
        return {
            "training_examples": self.training,
            "seen_share": 1 - self.share,
            "examples": self.examples,
            "scores": {name: as_plain(scores) for name, scores in self.scores.items()},
        }


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model and of the floors on one data set.

    ``unseen``: the same on the examples with a persona that the model was not trained on (None: unknown);
    ``facts``: what was scored and how; ``notes``: what a reader should know, in sentences.
    """

    model: Scores
    floors: Mapping[str, Scores]
    unseen: Unseen | None = None
    floor_texts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, Scores]:
        """The scores of the model and of the gold replies, if there are any, and those of each floor below."""
        return {**({MODEL: self.model} if self.model else {}), **self.floors}

    def but(self, **changes: Any) -> "Evaluation":
        """A copy with some fields changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """The content of ``scores.json``."""
        return {
            MODEL: as_plain(self.model),
            "floors": {name: as_plain(scores) for name, scores in self.floors.items()},
            "floor_texts": dict(self.floor_texts),
            "unseen_personas": self.unseen and self.unseen.as_dict(),
            "notes": list(self.notes),
            **self.facts,
        }


def judge(
    dialogues: Sequence[Dialogue],
    model: Candidate | None,
    training: Sequence[Dialogue] | None,
    stamp: Fields,
    tell: Tell | None = None,
    further: Metrics = NO_MORE,
) -> Evaluation:
    """Score ``model``, where there is one, and every floor on ``dialogues``.

    ``training`` are the dialogues that the model was trained on: without them there are no floors found on them
    and no word on unseen personas. ``stamp`` goes into every signature; metrics ``further`` are measured too.
    """
    floors = make_floors(dialogues, training) | (rank_floors(dialogues) if ranked(model, dialogues) else {})
    candidates = {**({MODEL: model} if model else {}), **floors}
    scores: dict[str, Scores] = {}
    for done, (name, candidate) in enumerate(candidates.items()):
        if tell:
            tell("scoring", done, len(candidates))
        scores[name] = candidate.score(stamp, further=further)
    if tell:
        tell("scoring", len(candidates), len(candidates))
    unseen = judge_unseen(dialogues, candidates, training, stamp, dict(scores), further)
    return Evaluation(
        model=scores.pop(MODEL, {}),
        floors=scores,
        unseen=unseen,
        floor_texts={name: floor.text for name, floor in floors.items() if floor.text is not None},
    )


def judge_unseen(
    dialogues: Sequence[Dialogue],
    candidates: Mapping[str, Candidate],
    training: Sequence[Dialogue] | None,
    stamp: Fields,
    whole: Mapping[str, Scores],
    further: Metrics = NO_MORE,
) -> Unseen | None:
    """Score ``candidates`` on the examples whose persona is none of ``training``: ``whole`` where all are."""
    if training is None or not any(each.sources.get("persona") for each in dialogues):
        return None
    at = unseen_personas(dialogues, training)
    scores = whole
    if len(at) < len(dialogues):
        marked = {**stamp, "only": "unseen-personas"}
        scores = {name: candidate.score(marked, at, further) for name, candidate in candidates.items()} if at else {}
    return Unseen(len(at), len(at) / len(dialogues), len(training), scores)


def known_dialogues(run: Run) -> tuple[list[Dialogue] | None, list[str]]:
    """The dialogues that ``run`` was trained on, or None and a note where they cannot be read any more."""
    try:
        return training_data(run).dialogues, []
    except UserError as error:
        lost = ", ".join(name for name in floor_names(True) if name not in floor_names(False))
        note = f"the floors {lost} and the examples with unseen personas are left out: no training data"
        return None, [f"{note} ({error})"]
