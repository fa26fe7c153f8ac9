"""A run's replies to a data file, scored by every metric that applies, beside the floors."""

import time
from collections.abc import Sequence
from pathlib import Path

from personae.decoding import Decoding
from personae.evaluation.further import Further
from personae.evaluation.judge import Evaluation, Tell, judge, known_dialogues
from personae.evaluation.predictions import Journal, Said, make_reply, write_predictions
from personae.evaluation.ranks import make_ranker, unasked
from personae.evaluation.scores import Candidate
from personae.evaluation.settings import UNRANKED, Settings, facts
from personae.evaluation.speaker import Speaker
from personae.evaluation.speaking import rank, speak
from personae.runs import Run, write_json
from personae.text.dialogue import Dialogue

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
    candidates: str = UNRANKED,
    training: Sequence[Dialogue] | None = None,
    further: Further = USUAL,
    tell: Tell | None = None,
) -> Evaluation:
    """Score the model of ``run`` on ``paths`` and write ``predictions.jsonl`` and ``scores.json`` to ``out``.

    ``limit`` takes the first so many examples; ``decoding`` is the recipe's unless given; ``seed`` decides what
    sampling draws; ``precision`` "bf16" makes replies faster; ``candidates``, "likelihood" or "head": what it ranks
    candidates by, unseen while it answers; ``training``: the dialogues that it was trained on (None: read from where
    the recipe says); ``further``: what is measured beyond the usual. What was interrupted goes on where it stopped.
    Raises ``UserError`` where run or data cannot be read or a reply does not fit.
    """
    start, recipe = time.monotonic(), run.recipe()
    settings = Settings(decoding or recipe.decoding, limit, batch, seed, precision, candidates)
    further.check((data := settings.read(paths, reader, recipe.data.on_error)).dialogues, candidates != UNRANKED)
    speaker = Speaker(run, settings.decoding, bf16=precision == "bf16")
    packed, ranker = speaker.pack(data.dialogues), make_ranker(settings, run, speaker)
    journal = Journal(out, settings.key(run, data))
    speak(speaker, packed, journal, settings, tell)
    said = rank(ranker, data.dialogues, packed, journal, settings, tell)
    known, notes = (training, []) if training is not None else known_dialogues(run)
    replies = further.add(speaker, packed, list(map(make_reply, data.dialogues, said)), tell)
    candidate = Candidate(replies, settings.spoken(), ranked={"ranker": settings.candidates, "precision": "fp32"})
    judged = judge(data.dialogues, candidate, known, settings.stamp(data), tell, further.all)
    more = {"cuts": speaker.packer.cuts.as_dict(), "seconds": round(time.monotonic() - start, 1)}
    notes = [*notes, *unasked(settings, speaker, data.dialogues)]
    told = judged.but(notes=notes, facts={**facts(run, paths, data, settings), **more})
    return finish(out, said, data.dialogues, told, journal)


def finish(
    out: Path, said: Sequence[Said], dialogues: Sequence[Dialogue], evaluation: Evaluation, journal: Journal
) -> Evaluation:
    """Write what came out, and return it; only then does the journal go."""
    write_predictions(out, dialogues, said)
    write_json(out / SCORES, evaluation.as_dict())
    journal.close()
    return evaluation
