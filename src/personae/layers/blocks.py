"""Decoder blocks: where the fusion sits. Shapes: B batch, T reply, P reply so far, D width, N sources, H heads."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer

from personae.fusion.base import Fusion, Past, View
from personae.layers.attention import SourceAttention
from personae.layers.memory import Encoded


class AskSource(nn.Module):
    """One source's own layer norm (``Identity``: it is asked with the block's query) and cross-attention."""

    def __init__(self, norm: nn.Module, attention: SourceAttention) -> None:
        super().__init__()
        self.norm, self.attention = norm, attention

    def forward(self, hidden: Tensor, source: Encoded, bridge: nn.Module | None) -> View:
        """What this layer sees of ``source`` given a decoder state (B, T, D); attention runs when asked."""
        states, mask = source.rows(hidden.shape[0])
        return View(
            states=states,
            mask=mask,
            query=self.norm(hidden),
            attend=partial(self.attention, source=source, bridge=bridge),
            norm=self.norm,
            heads=partial(self.attention.answers, source=source, bridge=bridge),
            project=self.attention.finish,
        )


def unasked(hidden: Tensor, source: Encoded, bridge: nn.Module | None = None) -> View:
    """A source without cross-attention, its states (B, S, D) brought to the decoder's width."""
    states, mask = (source if bridge is None else source.through(bridge)).rows(hidden.shape[0])
    return View(states, mask, hidden)


def answered(output: Tensor) -> View:
    """Self-attention's answer (B, T, D) as a view: it has an output and can be asked nothing else."""
    states, mask = output[:, :0], output[:, :0, 0].bool()
    return View(states, mask, output, attend=lambda _: output)


def looks(mask: Tensor, time: int) -> Tensor:
    """(B, T, P) True where position t of the last ``time`` may look: itself and what is real before it."""
    past = torch.arange(mask.shape[1], device=mask.device)
    reply = past[-time:]
    real = mask[:, None, :].bool() & (past <= reply[:, None])
    return real | (past == reply[:, None])


class ReplySoFar:
    """What a block that is not stepwise may know of the reply: the mask, and a place in the cache.

    ``offset`` is the number of self-attention layers: fusions keep theirs behind them, so that the cache's own
    reordering of beams serves both.
    """

    def __init__(self, mask: Tensor, cache: Cache | None, offset: int) -> None:
        self.mask, self.cache, self.offset = mask, cache, offset

    def at(self, layer: int) -> Past:
        """The past of one layer."""
        return Past(self.mask, partial(self._extend, layer=self.offset + layer))

    def _extend(self, one: Tensor, two: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        if self.cache is None:
            return one, two
        while len(self.cache.layers) <= layer:
            self.cache.layers.append(DynamicLayer())
        extended: tuple[Tensor, Tensor] = self.cache.update(one, two, layer)
        return extended


class Block(nn.Module):
    """What all blocks share. Without ``asks`` and ``fusion`` it is a plain decoder or encoder layer.

    ``asks`` holds one ``AskSource`` per source, in order, or a single one that asks them all; ``bridge`` maps
    encoder states to the decoder's width where the two differ; ``layer`` is the block's number.
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
        layer: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = ln_1, attn, ln_2, mlp
        self.asks = nn.ModuleList(asks)
        self.fusion, self.bridge, self.layer = fusion, bridge, layer
        self.fused_dropout = nn.Dropout(dropout)

    def attended(self, states: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        """(B, T, D) self-attention."""
        output: Tensor = self.attn(states, past_key_values=cache, attention_mask=mask)[0]
        return output

    def views(self, hidden: Tensor, sources: Sequence[Encoded]) -> list[View]:
        """What this layer sees of each source, given a decoder state (B, T, D)."""
        if not self.asks:
            return [unasked(hidden, source, self.bridge) for source in sources]
        asks = list(self.asks) * len(sources) if len(self.asks) == 1 else self.asks
        return [ask(hidden, source, self.bridge) for ask, source in zip(asks, sources, strict=True)]

    def fuse(self, fusion: Fusion, hidden: Tensor, views: Sequence[View], past: ReplySoFar | None) -> list[Tensor]:
        """The contributions, each (B, T, D)."""
        if fusion.stepwise or past is None:
            return list(fusion(hidden, views))
        return list(fusion(hidden, views, past.at(self.layer)))


class AfterBlock(Block):
    """Self-attention first, then the sources are asked (Huang et al. 2023, Figure 2), then the MLP; pre-LN."""

    def forward(
        self,
        hidden: Tensor,
        sources: Sequence[Encoded] = (),
        mask: Tensor | None = None,
        cache: Cache | None = None,
        past: ReplySoFar | None = None,
    ) -> Tensor:
        """(B, T, D) residual stream in and out; ``mask`` is the self-attention mask."""
        hidden = hidden + self.attended(self.ln_1(hidden), mask, cache)
        if self.fusion is not None and sources:
            hidden = sum(self.fuse(self.fusion, hidden, self.views(hidden, sources), past), start=hidden)
        output: Tensor = hidden + self.mlp(self.ln_2(hidden))
        return output


class BesideBlock(Block):
    """Self-attention is one more view beside the sources, the first (Cao et al. 2020, Section 3.2); pre-LN.

    Sources are asked with the state that self-attention gets, so their ``AskSource`` has no norm of its own.
    """

    def forward(
        self,
        hidden: Tensor,
        sources: Sequence[Encoded] = (),
        mask: Tensor | None = None,
        cache: Cache | None = None,
        past: ReplySoFar | None = None,
    ) -> Tensor:
        """See ``AfterBlock``."""

        def asked(query: Tensor) -> Tensor:
            own = self.attended(query, mask, cache)
            if self.fusion is None or not sources:
                return own
            views = [answered(own), *self.views(query, sources)]
            first, *others = self.fuse(self.fusion, hidden, views, past)
            fused: Tensor = self.fused_dropout(sum(others, start=first))
            return fused

        return self.joined(self.ln_2, self.joined(self.ln_1, hidden, asked), self.mlp)

    def joined(self, norm: nn.Module, hidden: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """The residual stream (B, T, D) with what ``part`` adds to it: the norm stands before ``part``."""
        return hidden + part(norm(hidden))


class PostBesideBlock(BesideBlock):
    """``BesideBlock`` with the layer norms after their sums, as in OpenAI GPT (MI-GPT, Golovanov et al. 2019)."""

    def joined(self, norm: nn.Module, hidden: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """As in ``BesideBlock``, the norm after the sum."""
        output: Tensor = norm(hidden + part(hidden))
        return output
