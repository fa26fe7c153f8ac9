"""Evaluation: a run's replies to a data file, and every metric beside the floors."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personae.decoding import Decoding
from personae.evaluation.judge import Evaluation, Tell, judge, known_dialogues
from personae.evaluation.predictions import Journal, Said, make_reply, read_predictions, write_predictions
from personae.evaluation.ranks import make_ranker, unasked
from personae.evaluation.scores import Candidate
from personae.evaluation.settings import UNRANKED, Settings, facts
from personae.evaluation.speaker import Speaker, plan_batches
from personae.ranking import Ranker
from personae.runs import Run, write_json
from personae.text.dialogue import Dialogue
from personae.text.pack import Packed

SCORES = "scores.json"

__all__ = ["Evaluation", "evaluate", "read_predictions"]


def evaluate(
    run: Run,
    paths: Sequence[str | Path],
    out: Path,
    *,
    reader: str | None = None,
    limit: int | None = None,
    decoding: Decoding | None = None,
    batch: int = 64,
    seed: int = 0,
    precision: str = "fp32",
    candidates: str = UNRANKED,
    training: Sequence[Dialogue] | None = None,
    tell: Tell | None = None,
) -> Evaluation:
    """Score the model of ``run`` on ``paths`` and write ``predictions.jsonl`` and ``scores.json`` to ``out``.

    ``limit`` takes the first so many examples; ``decoding`` is the recipe's unless given; ``seed`` decides what
    sampling draws; ``precision`` "bf16" makes replies faster; ``candidates``, "likelihood" or "head": what the model
    ranks each example's candidates by, unseen while it answers; ``training`` are the dialogues that it was trained
    on (None: read from where the recipe says). ``tell(stage, done, of)`` hears of progress. An interrupted
    evaluation goes on where it stopped. Raises ``UserError`` where run or data cannot be read, or a reply is too long.
    """
    start = time.monotonic()
    recipe = run.recipe()
    settings = Settings(decoding or recipe.decoding, limit, batch, seed, precision, candidates)
    data = settings.read(paths, reader, recipe.data.on_error)
    speaker = Speaker(run, settings.decoding, bf16=precision == "bf16")
    packed = speaker.pack(data.dialogues)
    ranker = make_ranker(settings, run, speaker)
    journal = Journal(out, settings.key(run, data))
    said = speak(speaker, packed, journal, settings, tell)
    said = rank(ranker, data.dialogues, packed, journal, settings, tell)
    known, notes = (training, []) if training is not None else known_dialogues(run)
    judged = judge(data.dialogues, answered(data.dialogues, said, settings), known, settings.stamp(data), tell)
    more = {"cuts": speaker.packer.cuts.as_dict(), "seconds": round(time.monotonic() - start, 1)}
    notes = [*notes, *unasked(settings, speaker, data.dialogues)]
    evaluation = judged.but(notes=notes, facts={**facts(run, paths, data, settings), **more})
    finish(out, data.dialogues, said, evaluation, journal)
    return evaluation


def finish(
    out: Path, dialogues: Sequence[Dialogue], said: Sequence[Said], evaluation: Evaluation, journal: Journal
) -> None:
    """Write what came out; only then does the journal go."""
    write_predictions(out, dialogues, said)
    write_json(out / SCORES, evaluation.as_dict())
    journal.close()


def answered(dialogues: Sequence[Dialogue], said: Sequence[Said], settings: Settings) -> Candidate:
    """The model's replies, ready to be scored."""
    replies = [make_reply(*pair) for pair in zip(dialogues, said, strict=True)]
    return Candidate(replies, settings.spoken(), ranked={"ranker": settings.candidates, "precision": "fp32"})


def speak(
    speaker: Speaker, packed: Sequence[Packed], journal: Journal, settings: Settings, tell: Tell | None
) -> list[Said]:
    """What the model says to ``packed``, in their order; batches that the journal has whole are not redone."""
    for batch in plan_batches(packed, settings.batch):
        if tell:
            tell("answering", len(journal.said), len(packed))
        if not all(at in journal.said for at in batch):
            said = speaker.answer([packed[at] for at in batch], settings.seed + batch[0])
            journal.add(dict(zip(batch, said, strict=True)))
    if tell:
        tell("answering", len(packed), len(packed))
    return [journal.said[at] for at in range(len(packed))]


def rank(
    ranker: Ranker | None,
    dialogues: Sequence[Dialogue],
    packed: Sequence[Packed],
    journal: Journal,
    settings: Settings,
    tell: Tell | None,
) -> list[Said]:
    """What was said to ``dialogues``, with rankings of their candidates by ``ranker``; those in the journal stay."""
    if ranker is None:
        return [journal.said[at] for at in range(len(packed))]
    for done, batch in enumerate(plan_batches(packed, settings.batch)):
        if tell:
            tell("ranking", min(done * settings.batch, len(packed)), len(packed))
        if not all(journal.said[at].ranking for at in batch):
            rankings = ranker.rank([dialogues[at] for at in batch], settings.seed)
            pairs = zip(batch, rankings, strict=True)
            journal.add({at: replace(journal.said[at], ranking=ranking) for at, ranking in pairs})
    if tell:
        tell("ranking", len(packed), len(packed))
    return [journal.said[at] for at in range(len(packed))]
