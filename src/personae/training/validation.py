"""Exact validation: nats per token over a data set, and how open each source's contributions are."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from personae.fusion import Fusion
from personae.models import DialogueModel
from personae.text.collate import IGNORED, Collator
from personae.text.pack import Packed


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
        """Pass batches on to the model, noting which tokens are real."""
        for batch in data:
            self.mask = batch["attention_mask"].bool()
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


def batches(examples: Sequence[Packed], size: int, collate: Collator) -> Iterator[dict[str, Any]]:
    """Padded batches of like length, in an order that does not depend on the data's."""
    order = sorted(range(len(examples)), key=lambda at: examples[at].length)
    for start in range(0, len(order), size):
        yield collate([examples[at] for at in order[start : start + size]])


@torch.no_grad()
def validate(model: DialogueModel, data: Iterator[dict[str, Any]]) -> tuple[float, int]:
    """Total nats and number of tokens of the replies, end tokens included."""
    nats, tokens = 0.0, 0
    for batch in data:
        output = model(**batch)
        nats += output.nll.double().sum().item()
        tokens += int((batch["labels"] != IGNORED).sum())
    return nats, tokens


def perplexity(nats: float) -> float:
    """exp of nats per token; infinite rather than an overflow."""
    return math.exp(nats) if nats < 700 else math.inf
