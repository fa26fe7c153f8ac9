"""The two passes of an evaluation: what a model says, then how it ranks candidates; both go on where they stopped."""

from collections.abc import Sequence
from dataclasses import replace

from personae.evaluation.judge import Tell
from personae.evaluation.predictions import Journal, Said
from personae.evaluation.settings import Settings
from personae.evaluation.speaker import Speaker, plan_batches
from personae.ranking import Ranker
from personae.text.dialogue import Dialogue
from personae.text.pack import Packed


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
