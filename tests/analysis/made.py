"""A tiny model with dialogues to read, without a run's folder."""

from types import SimpleNamespace

from personae.analysis.reading import Reading
from personae.data.load import Loaded
from personae.models import DialogueModel
from personae.text.collate import Collator
from personae.text.dialogue import Dialogue
from personae.text.pack import Packed
from tests.helpers import BOS, EOS, PAD

REPLIES = ([1, 2, 3], [4], [7, 1, 9, 9, 2], [3, 3])


def reading(model: DialogueModel) -> Reading:
    """Four examples of unequal lengths in two conversations."""
    packed = [
        Packed({"persona": [5, 6, at], "context": list(range(1, 4 + at))}, {}, [5] * at + [BOS], [*reply, EOS])
        for at, reply in enumerate(REPLIES)
    ]
    speaker = SimpleNamespace(
        model=model, collate=Collator(PAD), move=lambda batch: batch, tokenizer=SimpleNamespace(decode=str)
    )
    dialogues = [Dialogue({}, "", conversation=f"talk {at // 2}") for at in range(len(packed))]
    return Reading(speaker, Loaded(dialogues, "0" * 64), packed, {"data": "0"})
