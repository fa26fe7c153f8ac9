"""Loaders for recorded metric values: any file of the same form will do."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from personae.metrics import Metric, Reply


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def joined(text: str) -> str:
    """WordPieces put together again, as DialogVED's evaluation does before it scores."""
    return text.replace(" ##", "")


def dialogved(folder: Path) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Replies, the single reference of each, and the several references of each."""
    replies = [joined(line) for line in lines(folder / "syn.hyp")]
    single = [[joined(line)] for line in lines(folder / "syn.tgt")]
    blocks = joined((folder / "syn.multirefs").read_text(encoding="utf-8")).strip("\n").split("\n\n")
    return replies, single, [block.split("\n") for block in blocks]


def multi_source(folder: Path) -> tuple[list[str], list[list[str]]]:
    """Replies and the single reference of each."""
    return lines(folder / "hyp.txt"), [[line] for line in lines(folder / "ref.txt")]


def value(name: str, predictions: Sequence[str], references: Sequence[Sequence[str]], **options: Any) -> float:
    return Metric.build(name, **options).score(predictions, references).value


def each(name: str, predictions: Sequence[str], references: Sequence[Sequence[str]], **options: Any) -> list[float]:
    """The value of every reply on its own."""
    metric = Metric.build(name, **options)
    return [
        metric.measure([Reply(text, tuple(golds))]).value for text, golds in zip(predictions, references, strict=True)
    ]


def published(recorded: Mapping[str, Any], start: str) -> Any:
    """The only entry whose key starts with ``start``."""
    (found,) = [entry for key, entry in recorded.items() if key.startswith(start)]
    return found
