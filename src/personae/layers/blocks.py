"""Decoder blocks: where the fusion sits."""

from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn
from transformers.cache_utils import Cache

from personae.fusion.base import Fusion, View
from personae.layers.attention import SourceAttention
from personae.layers.memory import Encoded


class AskSource(nn.Module):
    """One source's own layer norm and cross-attention."""

    def __init__(self, norm: nn.Module, attention: SourceAttention) -> None:
        super().__init__()
        self.norm, self.attention = norm, attention

    def forward(self, hidden: Tensor, source: Encoded, bridge: nn.Module | None) -> View:
        """What this layer sees of ``source`` given the residual stream (B, T, D); attention runs when asked."""
        states, mask = source.rows(hidden.shape[0])
        attend = partial(self.attention, source=source, bridge=bridge)
        return View(states=states, mask=mask, query=self.norm(hidden), attend=attend)


class AfterBlock(nn.Module):
    """Self-attention first, then the sources are asked (Huang et al. 2023, Figure 2), then the MLP; pre-LN.

    ``asks`` holds one ``AskSource`` per source, in order, or a single one that asks them all.
    ``bridge`` maps encoder states to the decoder's width where the two differ.
    """

    def __init__(
        self,
        ln_1: nn.Module,
        attn: nn.Module,
        asks: Sequence[AskSource],
        fusion: Fusion | None,
        ln_2: nn.Module,
        mlp: nn.Module,
        bridge: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = ln_1, attn, ln_2, mlp
        self.asks = nn.ModuleList(asks)
        self.fusion, self.bridge = fusion, bridge

    def forward(
        self, hidden: Tensor, sources: Sequence[Encoded], mask: Tensor | None, cache: Cache | None = None
    ) -> Tensor:
        """(B, T, D) residual stream in and out; ``mask`` is the causal self-attention mask."""
        hidden = hidden + self.attn(self.ln_1(hidden), past_key_values=cache, attention_mask=mask)[0]
        if self.fusion is not None:
            hidden = sum(self.fusion(hidden, self.views(hidden, sources)), start=hidden)
        output: Tensor = hidden + self.mlp(self.ln_2(hidden))
        return output

    def views(self, hidden: Tensor, sources: Sequence[Encoded]) -> list[View]:
        """What this layer sees of each source, given the residual stream (B, T, D)."""
        asks = list(self.asks) * len(sources) if len(self.asks) == 1 else self.asks
        return [ask(hidden, source, self.bridge) for ask, source in zip(asks, sources, strict=True)]
