"""Labelled pairs of a persona sentence and a reply."""

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from personae.metrics.c_score import Claim


class Pair(NamedTuple):
    """A claim with its label; intervals are drawn by ``group``: a conversation, or a premise."""

    claim: Claim
    label: str
    group: str


@dataclass(frozen=True)
class Source:
    """Pairs from one place, those to train on apart from those held out; ``about``: what they are, for JSON."""

    train: Sequence[Pair] = ()
    held_out: dict[str, list[Pair]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


def hash_of(pairs: Sequence[Pair]) -> str:
    """SHA-256 of pairs, one JSON line each."""
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update((json.dumps([*pair.claim, pair.label]) + "\n").encode())
    return digest.hexdigest()


def share_of(text: str, parts: int) -> int:
    """Which of ``parts`` equal shares a text falls into, the same everywhere and always."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % parts
