"""GPT-2 with sources, which without them is also an encoder. Shapes: B batch, T row, D width."""

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor, nn
from transformers import GPT2Config
from transformers.cache_utils import Cache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention

from personae.layers.attention import BorrowedAttention, SourceAttention
from personae.layers.blocks import AfterBlock, AskSource, BesideBlock, Block, PostBesideBlock, ReplySoFar, looks
from personae.layers.encoder import positions
from personae.layers.memory import Encoded
from personae.models.base import build_fusion
from personae.models.fused.config import BESIDE, FusedConfig


class Decoder(nn.Module):
    """GPT-2 with sources; parameter names are those of ``GPT2Model``, so that its checkpoints load.

    ``layers`` are its blocks; ``final_norm`` False: no norm after the last one, as in OpenAI GPT.
    """

    def __init__(self, config: GPT2Config, layers: Sequence[Block], final_norm: bool = True) -> None:
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.h = nn.ModuleList(layers)
        self.ln_f = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon) if final_norm else nn.Identity()
        self.stepwise = all(each.fusion is None or each.fusion.stepwise for each in layers)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        token_type_ids: Tensor | None,
        sources: Sequence[Encoded],
        cache: Cache | None,
    ) -> Tensor:
        """(B, T, D) states after the final layer norm."""
        if attention_mask is None:
            seen = cache.get_seq_length() if cache is not None else 0
            attention_mask = input_ids.new_ones(input_ids.shape[0], seen + input_ids.shape[1])
        hidden = self.embed(input_ids, attention_mask, position_ids, token_type_ids)
        mask = create_causal_mask(self.config, hidden, attention_mask, cache)
        past = None if self.stepwise else ReplySoFar(looks(attention_mask, hidden.shape[1]), cache, len(self.h))
        for block in self.h:
            hidden = block(hidden, sources, mask, cache, past)
        return cast(Tensor, self.ln_f(hidden))

    def encode(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        position_ids: Tensor | None,
        token_type_ids: Tensor | None = None,
        causal: bool = False,
    ) -> Encoded:
        """Read (B, T) ids as a source: every token sees all others, or with ``causal`` the earlier ones."""
        hidden = self.embed(input_ids, attention_mask, position_ids, token_type_ids)
        if causal:
            mask = create_causal_mask(self.config, hidden, attention_mask, None)
        else:  # never None, which GPT-2's attention takes for causal
            mask = create_bidirectional_mask(self.config, hidden, attention_mask, allow_is_bidirectional_skip=False)
        for block in self.h:
            hidden = block(hidden, mask=mask)
        return Encoded(self.ln_f(hidden), attention_mask.bool())

    def embed(
        self, input_ids: Tensor, mask: Tensor, position_ids: Tensor | None, token_type_ids: Tensor | None
    ) -> Tensor:
        """(B, T, D) words, positions and types; a type is a token whose embedding is added (Wolf et al. 2019)."""
        if position_ids is None:
            position_ids = positions(mask)[:, -input_ids.shape[1] :]
        embedded = self.wte(input_ids) + self.wpe(position_ids)
        if token_type_ids is not None:
            embedded = embedded + self.wte(token_type_ids)
        return cast(Tensor, self.drop(embedded))


def build_decoder(config: FusedConfig) -> Decoder:
    """The decoder that asks the sources."""
    blocks = [build_block(config, layer) for layer in range(config.decoder.n_layer)]
    return Decoder(config.decoder, blocks, final_norm=not config.post_norm)


def build_block(config: FusedConfig, layer: int) -> Block:
    """One decoder block: GPT-2's parts, one question per source, the fusion."""
    decoder: GPT2Config = config.decoder
    if not config.sources:
        return plain_block(decoder, layer, config.post_norm)
    parts = plain_parts(decoder, layer)
    width, states, beside = decoder.n_embd, config.encoder.hidden_size, config.block == BESIDE
    fusion = build_fusion(config.fusion or {}, width, len(config.sources), beside)
    distinct = 1 if config.share_attention or config.share_self_attention else len(config.sources)
    lender = parts["attn"] if config.share_self_attention else None
    asks = [build_ask(decoder, beside, lender) for _ in range(distinct if fusion.uses_attention else 0)]
    bridge = nn.Linear(states, width) if states != width else None
    if not beside:
        return AfterBlock(**parts, asks=asks, fusion=fusion, bridge=bridge)
    kind = PostBesideBlock if config.post_norm else BesideBlock
    return kind(**parts, asks=asks, fusion=fusion, bridge=bridge, dropout=decoder.attn_pdrop)


def plain_block(config: GPT2Config, layer: int, post_norm: bool) -> Block:
    """A block that asks nobody."""
    kind = PostBesideBlock if post_norm else AfterBlock
    return kind(**plain_parts(config, layer), asks=(), fusion=None)


def plain_parts(decoder: GPT2Config, layer: int) -> dict[str, Any]:
    """What every block of GPT-2 has."""
    width = decoder.n_embd
    return {
        "layer": layer,
        "ln_1": nn.LayerNorm(width, eps=decoder.layer_norm_epsilon),
        "attn": GPT2Attention(decoder, layer_idx=layer),
        "ln_2": nn.LayerNorm(width, eps=decoder.layer_norm_epsilon),
        "mlp": GPT2MLP(decoder.n_inner or 4 * width, decoder),
    }


def build_gpt2_encoder(config: FusedConfig) -> Decoder:
    """A GPT-2 of its own that encodes sources."""
    blocks = [plain_block(config.encoder, layer, config.post_norm) for layer in range(config.encoder.n_layer)]
    return Decoder(config.encoder, blocks, final_norm=not config.post_norm)


def build_ask(decoder: GPT2Config, beside: bool, lender: GPT2Attention | None) -> AskSource:
    """Layer norm (beside self-attention: none of its own) and cross-attention for one source."""
    norm = nn.Identity() if beside else nn.LayerNorm(decoder.n_embd, eps=decoder.layer_norm_epsilon)
    if lender is not None:
        return AskSource(norm, BorrowedAttention(lender))
    return AskSource(norm, SourceAttention(decoder.n_embd, decoder.n_head, decoder.attn_pdrop, decoder.resid_pdrop))
