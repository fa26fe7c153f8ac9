"""The parts of a hosted model, from its configuration."""

from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from personae.errors import UserError
from personae.layers.attention import SourceAttention
from personae.layers.blocks import AskSource
from personae.layers.encoder import SourceEncoder
from personae.models.base import build_fusion
from personae.models.hosted.added import AfterLayer, OwnWords
from personae.models.hosted.config import BERT, HostedConfig

SHARED = "shared"


def build_base(config: HostedConfig) -> PreTrainedModel:
    """The base with random weights, in the dtype of everything else, whatever its checkpoint was saved in."""
    if config.base is None:
        raise UserError("a hosted model needs a decoder: its configuration has no base")
    base: PreTrainedModel = AutoModelForCausalLM.from_config(config.base, dtype=torch.get_default_dtype())
    return base


def load_base(config: HostedConfig, where: str) -> PreTrainedModel:
    """The base with the weights at ``where``, a folder or hub name, in fp32.

    Raises ``UserError`` where they cannot be read or lack keys, or the recipe's words are not the base's.
    """
    if 2 * config.vocab_size < config.text.vocab_size:
        raise UserError(
            f"the recipe has {config.vocab_size} words and the base {config.text.vocab_size}: "
            f"set text.tokenizer={where}, since the base reads its own tokenizer's words only"
        )
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            where, config=config.base, dtype=torch.float32, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        first = " ".join(str(error).split())[:200]
        raise UserError(f"model.options.base='{where}': its weights cannot be read: {first}") from error
    base, told = loaded
    lacking = sorted(told["missing_keys"])
    if lacking:
        raise UserError(f"model.options.base='{where}' lacks {len(lacking)} weights, as {lacking[0]}")
    base.config._name_or_path = base.name_or_path = ""
    return base  # type: ignore[no-any-return]


def chosen_layers(config: HostedConfig, depth: int) -> list[int]:
    """Numbers of the layers that ask the sources; none where there are no sources."""
    if not config.sources:
        return []
    if isinstance(config.layers, str):
        if config.layers != "all":
            raise UserError(f"model.options.layers='{config.layers}' should be all, or a list such as [0, {depth - 1}]")
        return [*range(depth)]
    chosen = sorted(config.layers)
    if not chosen or len({*chosen}) < len(chosen) or chosen[0] < 0 or chosen[-1] >= depth:
        raise UserError(f"model.options.layers={config.layers}: name each layer once, from 0 to {depth - 1}")
    return chosen


def build_after(config: HostedConfig, layer: int) -> AfterLayer:
    """What asks the sources behind one layer: a question per source where the fusion asks, the fusion."""
    width = config.width
    fusion = build_fusion(config.fusion or {}, width, len(config.sources))
    distinct = 1 if config.share_attention else len(config.sources)
    asks = [build_ask(config) for _ in range(distinct if fusion.uses_attention else 0)]
    states = config.encoder.hidden_size if config.encoder_kind == BERT else width
    return AfterLayer(asks, fusion, nn.Linear(states, width) if states != width else None, layer)


def build_ask(config: HostedConfig) -> AskSource:
    """Layer norm and cross-attention for one source."""
    heads = config.heads or int(getattr(config.text, "num_attention_heads", 0))
    if heads < 1 or config.width % heads:
        raise UserError(f"model.options.heads={heads} does not divide the base's width {config.width}: set another")
    attention = SourceAttention(config.width, heads, config.dropout, config.dropout)
    return AskSource(nn.LayerNorm(config.width), attention)


def build_encoders(config: HostedConfig) -> nn.ModuleDict:
    """Encoders of the sources' own; none where the base reads them."""
    if config.encoder_kind != BERT or not config.sources:
        return nn.ModuleDict()
    names = [SHARED] if config.share_encoder else config.sources
    return nn.ModuleDict({name: SourceEncoder(**config.encoder.to_dict()) for name in names})


def build_words(config: HostedConfig, base: PreTrainedModel) -> OwnWords | None:
    """Rows for the words that are not the base's; None where all are."""
    first = config.first_own
    if first == config.vocab_size:
        return None
    table, head = (row_width(each) for each in (base.get_input_embeddings(), base.get_output_embeddings()))
    bias = getattr(base.get_output_embeddings(), "bias", None) is not None
    return OwnWords(first, config.vocab_size - first, table, head, bias)


def row_width(module: Any) -> int:
    """Width of the rows of a table or head."""
    return int(module.weight.shape[-1])
