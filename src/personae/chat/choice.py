"""Choosing one of several replies. Shapes: N replies, T prompt and reply."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from personae.models import DialogueModel
from personae.text.collate import Collator
from personae.text.pack import Packed

# What is wanted of replies: (persona, the partner's message, replies) to one score each, the higher the better.
Prefer = Callable[[Sequence[str], str, Sequence[str]], Sequence[float]]


def best(scores: Sequence[float], ties: Sequence[float]) -> int:
    """The position of the highest score; of equal ones that with the highest of ``ties``, then the first."""
    return max(range(len(scores)), key=lambda at: (scores[at], ties[at], -at))


def likelihoods(
    model: DialogueModel, collate: Collator, packed: Packed, rows: Sequence[Sequence[int]], end: int
) -> list[float]:
    """Log-likelihood in nats of each reply (N rows of token ids, read up to the end token), end token included."""
    replies = [until(row, end) for row in rows]
    batch: Any = on(model.device, collate([replace(packed, reply=reply) for reply in replies]))
    memory = model.encode(batch.pop("sources"))
    return [-nats for nats in model(**batch, memory=memory).nll.double().sum(-1).tolist()]


def until(row: Sequence[int], end: int) -> list[int]:
    """``row`` up to its first end token, that included; one that was cut off stays as it is."""
    ids = list(row)
    return ids[: ids.index(end) + 1] if end in ids else ids


def on(device: Any, batch: Any) -> Any:
    """A nested dict of tensors, on ``device``."""
    if isinstance(batch, dict):
        return {name: on(device, value) for name, value in batch.items()}
    return batch.to(device)
