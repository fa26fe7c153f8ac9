"""Attention over the sources' answers as the published code of Cao et al. (2020) computes it, "att"."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from personae.fusion.attention import SignedRootAttention
from personae.fusion.base import Fusion, Past, View

HEAD = 64
TINY = 1e-12


@Fusion.register("attention-published")
class PublishedAttention(SignedRootAttention):
    """Attention among the answers, as published: softmax(sqrt(|Q| |K|') / sqrt(W)) V per head of width W.

    Q is the persona's answer (second view), K the history's (third), V self-attention's (first). Absolute
    values are taken before the product, so no sign is left. The linear layer after it starts at 1 / D
    everywhere, bias 0. ``heads`` is by default as many of width 64 as fit, GPT-2's own number.
    Contribution: that of V, self-attention, is everything; those of persona and history are 0.
    """

    arity = 3

    def __init__(self, dim: int, sources: int, heads: int | None = None) -> None:
        super().__init__(dim, sources, max(1, dim // HEAD) if heads is None else heads)
        self.initialise()

    def initialise(self) -> None:
        """Start the projection as the mean over dimensions."""
        nn.init.constant_(self.project.weight, 1 / self.dim)
        nn.init.zeros_(self.project.bias)

    def forward(self, hidden: Tensor, views: Sequence[View], past: Past | None = None) -> tuple[Tensor, ...]:
        """Return the contributions of self-attention, persona and history, each (B, T, D)."""
        own, persona, history = views
        none, nothing, answer = super().forward(hidden, (persona, history, own), past)
        return answer, none, nothing

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, H, T, P) from queries (B, H, T, W) and keys (B, H, P, W); never a root of 0: its slope is infinite."""
        product = (query.abs() @ keys.abs().transpose(-1, -2)).float()
        return product.clamp(min=TINY).sqrt() / math.sqrt(query.shape[-1])
