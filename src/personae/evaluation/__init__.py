"""Evaluation: a run's replies to a data file, and every metric beside the floors."""

import time
from collections.abc import Sequence
from pathlib import Path

from personae.decoding import Decoding
from personae.evaluation.judge import Evaluation, Tell, judge, known_dialogues
from personae.evaluation.predictions import Journal, Said, make_reply, read_predictions, write_predictions
from personae.evaluation.scores import NO_MORE, Candidate, Metrics
from personae.evaluation.settings import Settings, facts
from personae.evaluation.speaker import Speaker, plan_batches
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
    training: Sequence[Dialogue] | None = None,
    tell: Tell | None = None,
    further: Metrics = NO_MORE,
) -> Evaluation:
    """Score the model of ``run`` on ``paths`` and write ``predictions.jsonl`` and ``scores.json`` to ``out``.

    ``limit`` takes the first so many examples; ``decoding`` is the recipe's unless given; ``seed`` decides what
    sampling draws; ``precision`` "bf16" makes replies faster; ``training`` are the dialogues that the model was
    trained on (None: read from where the recipe says). ``tell(stage, done, of)`` hears of progress. ``further``:
    metrics beside those that apply of themselves, such as a ``c_score`` with its judge. An interrupted evaluation
    goes on where it stopped. Raises ``UserError`` where run or data cannot be read or a gold reply does not fit.
    """
    start = time.monotonic()
    recipe = run.recipe()
    settings = Settings(decoding or recipe.decoding, limit, batch, seed, precision)
    data = settings.read(paths, reader, recipe.data.on_error)
    speaker = Speaker(run, settings.decoding, bf16=precision == "bf16")
    packed = speaker.pack(data.dialogues)
    journal = Journal(out, settings.key(run, data))
    said = speak(speaker, packed, journal, settings, tell)
    known, notes = (training, []) if training is not None else known_dialogues(run)
    model = Candidate([make_reply(*pair) for pair in zip(data.dialogues, said, strict=True)], settings.spoken())
    judged = judge(data.dialogues, model, known, settings.stamp(data), tell, further)
    more = {"cuts": speaker.packer.cuts.as_dict(), "seconds": round(time.monotonic() - start, 1)}
    evaluation = judged.but(notes=notes, facts={**facts(run, paths, data, settings), **more})
    write_predictions(out, data.dialogues, said)
    write_json(out / SCORES, evaluation.as_dict())
    journal.close()
    return evaluation


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
