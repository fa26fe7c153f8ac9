"""Exact validation: nats per token over a data set, and how open each source's contributions are."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from personae.fusion import Fusion
from personae.models import DialogueModel
from personae.models.base import Output
from personae.text.collate import IGNORED, Collator
from personae.training.examples import PackedDataset


class OpenShares:
    """While active, counts per fusion layer and source the share of contribution entries that are not 0.

    A masking fusion sets closed entries to exactly 0; any other fusion is fully open. Padding does not count.
    """

    def __init__(self, model: DialogueModel) -> None:
        self.fusions = [module for module in model.modules() if isinstance(module, Fusion)]
        self.open: list[list[Tensor]] = [[] for _ in self.fusions]
        self.real = 0
        self.mask: Tensor | None = None

    def __enter__(self) -> "OpenShares":
        self.hooks = [
            fusion.register_forward_hook(lambda _, __, out, at=at: self._count(at, out))
            for at, fusion in enumerate(self.fusions)
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self.hooks:
            hook.remove()

    def counted(self, data: Iterator[Any]) -> Iterator[Any]:
        """Pass batches on to the model, noting which tokens it reads are real: with candidates, all of theirs."""
        for batch in data:
            rows = batch.get("candidates", batch)
            self.mask = rows["attention_mask"].bool().flatten(0, -2)
            self.real += int(self.mask.sum())
            yield batch

    def _count(self, layer: int, contributions: Sequence[Tensor]) -> None:
        assert self.mask is not None
        counts = torch.stack([((part != 0) & self.mask[..., None]).sum() / part.shape[-1] for part in contributions])
        self.open[layer].append(counts)

    def shares(self, sources: Sequence[str]) -> list[dict[str, float]]:
        """Per layer, the share of open entries by source."""
        layers = [torch.stack(counts).sum(0).tolist() for counts in self.open if counts]
        return [{name: count / self.real for name, count in zip(sources, each, strict=True)} for each in layers]


class Choices:
    """Counts how often the model's candidate head prefers the gold reply; of equal scores the first counts."""

    def __init__(self) -> None:
        self.right, self.of = 0, 0

    def count(self, batch: Mapping[str, Any], output: Output) -> None:
        """Count one batch, if it has candidates."""
        if output.choice_logits is not None:
            gold = batch["candidates"]["labels"]
            self.right += int((output.choice_logits.argmax(-1) == gold).sum())
            self.of += len(gold)

    def metrics(self) -> dict[str, float]:
        """For the log."""
        return {"eval_choice_accuracy": self.right / self.of} if self.of else {}


def batches(examples: PackedDataset, size: int, collate: Collator) -> Iterator[dict[str, Any]]:
    """Padded batches of like length, in an order that does not depend on the data's."""
    order = sorted(range(len(examples)), key=lambda at: examples.examples[at].length)
    for start in range(0, len(order), size):
        yield collate([examples[at] for at in order[start : start + size]])


@torch.no_grad()
def validate(model: DialogueModel, data: Iterator[dict[str, Any]], choices: Choices | None = None) -> tuple[float, int]:
    """Total nats and number of tokens of the replies, end tokens included; ``choices`` counts beside them."""
    nats, tokens = 0.0, 0
    for batch in data:
        output = model(**batch)
        nats += output.nll.double().sum().item()
        tokens += int((batch["labels"] != IGNORED).sum())
        if choices is not None:
            choices.count(batch, output)
    return nats, tokens


def perplexity(nats: float) -> float:
    """exp of nats per token; infinite rather than an overflow."""
    return math.exp(nats) if nats < 700 else math.inf
