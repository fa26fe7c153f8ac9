"""Pointer-generator: the next word comes from the vocabulary or from a source (See et al. 2017).

Shapes: B batch, T reply, S tokens of all sources, D width, V vocabulary; ``...`` is (B, T) or (M,) chosen rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from personae.layers.blocks import AskSource
from personae.layers.memory import Encoded
from personae.models.seq2seq.layers import NarrowAttention


@dataclass
class Quotable(Encoded):
    """An encoded source that knows its ids (B, S), so that its words can be copied."""

    ids: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class Copies:
    """Per position the probability of copying each source token, weights (..., S), and the tokens, ids (..., S)."""

    weights: Tensor
    ids: Tensor

    def at(self, rows: Any) -> "Copies":
        """Those of some positions."""
        return Copies(self.weights[rows], self.ids[rows])


def copies(asks: Sequence[AskSource], queries: Sequence[Tensor], sources: Sequence[Encoded]) -> Copies:
    """Where a layer looks: one softmax over the tokens of all sources, of the mean over heads of its scores.

    ``queries``, (B, T, D) each, are what the layer asks its sources with. Cao et al. have one source.
    """
    scores, ids = [], []
    for ask, query, source in zip(asks, queries, sources, strict=True):
        assert isinstance(ask.attention, NarrowAttention)
        assert isinstance(source, Quotable)
        scores.append(ask.attention.scores(query, source))
        each = source.ids.repeat_interleave(len(query) // len(source.ids), 0)
        ids.append(each[:, None].expand(-1, query.shape[1], -1))
    return Copies(torch.cat(scores, -1).softmax(-1), torch.cat(ids, -1))


class Pointer(nn.Module):
    """Mixes what the vocabulary says with what is copied: p = g p_words + (1 - g) p_copied, g = sigmoid(w h + b)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, 1)

    def forward(self, hidden: Tensor, logits: Tensor, found: Copies) -> Tensor:
        """Log p (..., V) for states (..., D) and the vocabulary's logits (..., V)."""
        gate, words = self.gate(hidden).float(), logits.float().log_softmax(-1)
        copied = torch.zeros_like(words).scatter_add(-1, found.ids, found.weights)
        # Most words stand in no source: the smallest number for 0 keeps the logarithm and its gradient finite.
        copied = copied.clamp_min(torch.finfo(copied.dtype).tiny).log()
        return torch.logaddexp(F.logsigmoid(gate) + words, F.logsigmoid(-gate) + copied)
