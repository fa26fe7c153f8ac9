"""What a run's model finds likeliest at each position of the gold reply: for ``paa_teacher_forced_macro_f1``.

Shapes: B batch, T prompt and reply, R the longest reply of a batch, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from personae.evaluation.speaker import Speaker
from personae.metrics.reply import Forced
from personae.metrics.teacher_forced import BATCH
from personae.text.pack import Packed


def force(speaker: Speaker, packed: Sequence[Packed]) -> Iterator[Forced]:
    """Argmax and label of every position, for each of ``packed`` in order.

    As published: ``BATCH`` replies at a time, each padded to the longest of them; the model reads padding where
    there is some, masked, and what it answers there counts.
    """
    for start in range(0, len(packed), BATCH):
        yield from force_batch(speaker, packed[start : start + BATCH])


@torch.inference_mode()
def force_batch(speaker: Speaker, packed: Sequence[Packed]) -> list[Forced]:
    """One batch."""
    longest, pad = max(len(each.reply) for each in packed), speaker.collate.pad
    padded = [replace(each, reply=each.reply + [pad] * (longest - len(each.reply))) for each in packed]
    batch: Any = speaker.collate(padded)
    batch["attention_mask"] &= batch["input_ids"] != pad
    # With labels the head runs on the rows that predict them: R for each of B, in order.
    rows = speaker.model(**speaker.move(batch)).logits.argmax(-1).view(len(packed), longest)
    pairs = zip(rows.tolist(), padded, strict=True)
    return [Forced(tuple(predicted), tuple(each.reply)) for predicted, each in pairs]
