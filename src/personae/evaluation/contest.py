"""Rankers that need no run, scored on the candidates of a data file."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personae.data.load import load
from personae.errors import UserError
from personae.evaluation.judge import MODEL, Evaluation, judge_unseen
from personae.evaluation.ranks import rank_floors
from personae.evaluation.scores import Candidate, Fields
from personae.evaluation.settings import SHORT, versions
from personae.metrics import Reply
from personae.metrics.hits import Ranked
from personae.ranking import Ranker, require_candidates
from personae.ranking.model import ModelRanker
from personae.runs import write_json
from personae.text.dialogue import Dialogue
from personae.text.style import restyle

SEED = 0  # of the order in which candidates are shown


@dataclass(frozen=True)
class Lesson:
    """What a ranker learns from: training files, brought to ``style``, and how long and with which seed."""

    paths: Sequence[Path]
    style: str = "as_read"
    options: Mapping[str, Any] | None = None


def contest(name: str, paths: Sequence[Path], lesson: Lesson | None = None, limit: int | None = None) -> Evaluation:
    """Let the ranker called ``name`` rank the candidates in ``paths``, beside the rankers that cost nothing.

    ``lesson`` for one that learns; ``limit`` takes the first so many examples. Raises ``UserError`` for data
    without candidates, a ranker that needs a model, and a lesson that lacks or is not needed.
    """
    kind = check(name, lesson)
    if limit is not None and limit < 1:
        raise UserError(f"limit={limit}: rank at least 1 example")
    data = load(paths)
    dialogues = data.dialogues[:limit]
    require_candidates(dialogues)
    known, learned = learn(lesson)
    start = time.monotonic()
    ranker = kind.build(name) if lesson is None else kind.build(name, training=known, **(lesson.options or {}))
    trained = round(time.monotonic() - start, 1)
    stamp = {"data": data.sha256[:SHORT], **({} if limit is None else {"limit": f"first-{limit}"})}
    facts = {
        "ranker": {"name": name, **ranker.facts()},
        "training": None if learned is None else {**learned, "seconds": trained},
        "data": {
            "path": [path.name for path in paths],
            "sha256": data.sha256,
            "examples": len(dialogues),
            "conversations": len({each.conversation for each in dialogues}),
            "limit": limit,
        },
        "versions": versions(),
    }
    return compared(name, ranker, dialogues, known, stamp).but(facts=facts)


def check(name: str, lesson: Lesson | None) -> type[Ranker]:
    """Refuse a ranker that cannot be had so."""
    kind = Ranker.get(name)
    if issubclass(kind, ModelRanker):
        raise UserError(f"the ranker '{name}' asks a model: personae evaluate RUN --data FILE --candidates {name}")
    if kind.needs_training and lesson is None:
        raise UserError(f"the ranker '{name}' learns: give --train FILE")
    if lesson is not None and not kind.needs_training:
        raise UserError(f"the ranker '{name}' learns nothing: leave out --train")
    return kind


def learn(lesson: Lesson | None) -> tuple[list[Dialogue] | None, dict[str, Any] | None]:
    """The dialogues of a lesson, and what a reader should know of them."""
    if lesson is None:
        return None, None
    data = load(lesson.paths)
    known = [restyle(each, lesson.style) for each in data.dialogues]
    names = [path.name for path in lesson.paths]
    return known, {"path": names, "sha256": data.sha256, "examples": len(known), "style": lesson.style}


def compared(
    name: str, ranker: Ranker, dialogues: Sequence[Dialogue], known: Sequence[Dialogue] | None, stamp: Fields
) -> Evaluation:
    """The scores of ``ranker`` and of the floors, on all and on those with personae that it does not know."""
    rankings = zip(dialogues, ranker.rank(dialogues, SEED), strict=True)
    replies = [Reply("", (), each.conversation, tags=each.tags, ranking=ranking) for each, ranking in rankings]
    own = Candidate(replies, {"ranker": name, **ranker.facts()}, only=Ranked)
    candidates = {MODEL: own, **{key: floor for key, floor in rank_floors(dialogues).items() if key != name}}
    scores = {key: candidate.score(stamp) for key, candidate in candidates.items()}
    unseen = judge_unseen(dialogues, candidates, known, stamp, scores)
    return Evaluation(scores[MODEL], {key: each for key, each in scores.items() if key != MODEL}, unseen)


def write_contest(path: Path, evaluation: Evaluation, about: str) -> None:
    """Keep ``evaluation`` in ``path``, as under ``results/``; ``about`` says what it is and is not."""
    content = evaluation.as_dict()
    write_json(path, {"about": about, **{key: value for key, value in content.items() if key != "floor_texts"}})
