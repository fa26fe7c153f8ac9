"""Encoder and decoder of the seq2seq model. Shapes: B batch, T reply, P reply so far, S source, D width."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn
from transformers.cache_utils import Cache

from personae.fusion import View
from personae.layers.blocks import AskSource, Block, ReplySoFar, looks
from personae.layers.encoder import positions
from personae.layers.memory import Encoded
from personae.models.base import build_fusion
from personae.models.seq2seq.config import Seq2seqConfig
from personae.models.seq2seq.layers import Convolutions, NarrowAttention, Norm, SelfAttention, make_room, sinusoids


class ConvolutionBlock(Block):
    """Self-attention, then the sources are asked, as in ``AfterBlock``; then convolutions over neighbours; pre-LN."""

    mlp: Convolutions

    def forward(
        self,
        hidden: Tensor,
        real: Tensor,
        mask: Tensor,
        sources: Sequence[Encoded] = (),
        cache: Cache | None = None,
        past: ReplySoFar | None = None,
    ) -> tuple[Tensor, list[View]]:
        """The residual stream (B, T, D), and the views that its sources were asked through.

        ``real`` (B, P) is True on tokens, ``mask`` (B, 1, T or 1, P) on what self-attention may see.
        """
        hidden = hidden + self.attended(self.ln_1(hidden), mask, cache)
        views = self.views(hidden, sources)
        if self.fusion is not None:
            hidden = sum(self.fuse(self.fusion, hidden, views, past), start=hidden)
        return hidden + self.mlp(self.ln_2(hidden), real, cache), views


class Stack(nn.Module):
    """What encoder and decoder share: words brought in, positions, blocks, a final norm."""

    def __init__(self, dim: int, blocks: Sequence[ConvolutionBlock], dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(dim, dim, bias=False)
        self.blocks = nn.ModuleList(blocks)
        self.norm = Norm(dim)
        self.dropout = nn.Dropout(dropout)

    def embed(self, words: Tensor, places: Tensor) -> Tensor:
        """(B, T, D) of word vectors (B, T, D) and positions (B, T)."""
        brought: Tensor = self.project(self.dropout(words))
        return brought + sinusoids(places, words.shape[-1]).to(brought.dtype)


class Encoder(Stack):
    """Reads one source, every token seeing all others."""

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """States (B, S, D) of word vectors (B, S, D) and their mask (B, S)."""
        hidden, real = self.embed(words, positions(mask)), mask.bool()
        for block in self.blocks:
            hidden, _ = block(hidden, real, real[:, None, None])
        states: Tensor = self.norm(hidden)
        return states


class Decoder(Stack):
    """Writes the reply, asking the sources in every layer."""

    @property
    def asks(self) -> list[AskSource]:
        """The last layer's questions, one per source; none where its fusion uses no attention."""
        return [cast(AskSource, ask) for ask in cast(ConvolutionBlock, self.blocks[-1]).asks]

    def forward(
        self, words: Tensor, mask: Tensor, places: Tensor, sources: Sequence[Encoded], cache: Cache | None
    ) -> tuple[Tensor, list[View]]:
        """States (B, T, D) of word vectors (B, T, D), and the last layer's views.

        ``mask`` (B, P) is 1 on real tokens; ``places`` (B, T) are positions.
        """
        hidden, seen, layers = self.embed(words, places), looks(mask, words.shape[1]), len(self.blocks)
        if cache is not None:
            make_room(cache, layers)
        past, views = ReplySoFar(seen, cache, 2 * layers), []
        for block in self.blocks:
            hidden, views = block(hidden, mask.bool(), seen[:, None], sources, cache, past)
        return self.norm(hidden), views


def build_encoder(config: Seq2seqConfig) -> Encoder:
    """One source encoder."""
    blocks = [build_block(config, layer) for layer in range(config.num_hidden_layers)]
    return Encoder(config.hidden_size, blocks, config.dropout)


def build_decoder(config: Seq2seqConfig) -> Decoder:
    """The decoder that asks the sources."""
    blocks = [build_asking_block(config, layer) for layer in range(config.num_hidden_layers)]
    return Decoder(config.hidden_size, blocks, config.dropout)


def build_block(config: Seq2seqConfig, layer: int) -> ConvolutionBlock:
    """An encoder layer."""
    dim = config.hidden_size
    return ConvolutionBlock(
        ln_1=Norm(dim),
        attn=SelfAttention(dim, config.num_attention_heads, config.depth, layer, config.dropout),
        asks=(),
        fusion=None,
        ln_2=Norm(dim),
        mlp=Convolutions(dim, config.filter_size, config.dropout),
    )


def build_asking_block(config: Seq2seqConfig, layer: int) -> ConvolutionBlock:
    """A decoder layer: one question per source where the fusion asks, the fusion, causal convolutions."""
    dim, heads = config.hidden_size, config.num_attention_heads
    fusion = build_fusion(config.fusion or {}, dim, len(config.sources))
    attentions = [NarrowAttention(dim, heads, config.depth, config.dropout) for _ in config.sources]
    return ConvolutionBlock(
        ln_1=Norm(dim),
        attn=SelfAttention(dim, heads, config.depth, layer, config.dropout),
        asks=[AskSource(Norm(dim), attention) for attention in attentions if fusion.uses_attention],
        fusion=fusion,
        ln_2=Norm(dim),
        mlp=Convolutions(dim, config.filter_size, config.dropout, place=config.num_hidden_layers + layer),
        layer=layer,
    )
