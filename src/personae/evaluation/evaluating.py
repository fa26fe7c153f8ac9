"""A run's replies to a data file, scored by every metric that applies, beside the floors."""

import time
from collections.abc import Sequence
from pathlib import Path

from personae.decoding import Decoding
from personae.evaluation.further import Further
from personae.evaluation.judge import Evaluation, Tell, judge, known_dialogues
from personae.evaluation.predictions import Journal, Said, make_reply, write_predictions
from personae.evaluation.scores import Candidate
from personae.evaluation.settings import Settings, facts
from personae.evaluation.speaker import Speaker, plan_batches
from personae.runs import Run, write_json
from personae.text.dialogue import Dialogue
from personae.text.pack import Packed

SCORES = "scores.json"
USUAL = Further()


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
    further: Further = USUAL,
    tell: Tell | None = None,
) -> Evaluation:
    """Score the model of ``run`` on ``paths`` and write ``predictions.jsonl`` and ``scores.json`` to ``out``.

    ``limit`` takes the first so many examples; ``decoding`` is the recipe's unless given; ``seed`` decides what
    sampling draws; ``precision`` "bf16" makes replies faster; ``training`` are the dialogues that the model was
    trained on (None: read from where the recipe says); ``further``: what is measured beyond the usual; ``tell``
    hears of progress. An evaluation that was interrupted goes on where it stopped. Raises ``UserError`` where run
    or data cannot be read or a gold reply does not fit.
    """
    start, recipe = time.monotonic(), run.recipe()
    settings = Settings(decoding or recipe.decoding, limit, batch, seed, precision)
    data = settings.read(paths, reader, recipe.data.on_error)
    further.check(data.dialogues)
    speaker = Speaker(run, settings.decoding, bf16=precision == "bf16")
    packed, journal = speaker.pack(data.dialogues), Journal(out, settings.key(run, data))
    said = speak(speaker, packed, journal, settings, tell)
    known, notes = known_dialogues(run) if training is None else (training, [])
    replies = further.add(speaker, packed, list(map(make_reply, data.dialogues, said)), tell)
    candidate, stamp = Candidate(replies, settings.spoken()), settings.stamp(data)
    judged = judge(data.dialogues, candidate, known, stamp, tell, further.metrics)
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
