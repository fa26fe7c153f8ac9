"""The fused model: encoders for the sources, a GPT-2 decoder whose blocks hold the fusion."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from transformers import GPT2Config
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention
from transformers.pytorch_utils import Conv1D

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.attention import SourceAttention
from personae.layers.blocks import AfterBlock, AskSource
from personae.layers.encoder import SourceEncoder, positions, positions_back
from personae.layers.memory import Encoded, Memory
from personae.layers.packed import PackedLinear, can_pack, pack_linears
from personae.models.base import DialogueModel, LoadReport, Output, SourceBatch
from personae.models.fused.config import FusedConfig, check_options
from personae.models.fused.pretrained import load_gpt2

SHARED = "shared"


@DialogueModel.register("fused")
class FusedModel(DialogueModel):
    """GPT-2 decoder with encoded sources fused in every layer (Huang et al. 2023, Eq. 1 to 8)."""

    config: FusedConfig
    config_class = FusedConfig
    base_model_prefix = ""
    _supports_sdpa = True
    _no_split_modules = ["AfterBlock"]  # noqa: RUF012  (transformers declares it as an instance attribute)

    def __init__(self, config: FusedConfig) -> None:
        super().__init__(config)
        # transformers hands this on to sub-models only, and the decoder's blocks are ours.
        config.decoder._attn_implementation = config._attn_implementation
        names = [SHARED] if config.share_encoder else list(config.sources)
        self.encoders = nn.ModuleDict({name: build_encoder(config) for name in names})
        self.decoder = Decoder(config)
        self.packed_head: PackedLinear | None = None
        if config.share_words:
            tables = (f"encoders.{name}.bert.embeddings.word_embeddings.weight" for name in names)
            self._tied_weights_keys = dict.fromkeys(tables, "decoder.wte.weight")
        self.post_init()  # type: ignore[no-untyped-call]

    @classmethod
    def create(
        cls,
        sources: Sequence[str],
        fusion: Mapping[str, Any],
        ids: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Self:
        """See ``DialogueModel.create``; ``options`` are fields of ``FusedConfig``."""
        check_options(options)
        try:
            return cls(FusedConfig(sources=list(sources), fusion=dict(fusion), **ids, **options))
        except UserError:
            raise
        except (TypeError, ValueError, KeyError, StrictDataclassError) as error:
            raise UserError(f"model: {' '.join(str(error).split())}") from error

    def load_decoder(self, folder: str) -> LoadReport:
        """Load GPT-2 weights in HF format into the decoder; sources and fusion keep their random start."""
        return load_gpt2(self.decoder, self.config.decoder.n_head, folder)

    @property
    def window(self) -> dict[str, int]:
        """Encoder positions for every source, decoder positions for ``decoder``."""
        per_source = dict.fromkeys(self.config.sources, self.config.encoder.max_position_embeddings)
        return {**per_source, "decoder": self.config.decoder.n_positions}

    def pack(self) -> Self:
        """See ``DialogueModel.pack``; the head gets a packed copy of the word table."""
        self.bfloat16()
        if self.device.type == "cpu" and can_pack():
            pack_linears(self)
            self.packed_head = PackedLinear(self.decoder.wte.weight, None)
        return self

    def head(self, hidden: Tensor) -> Tensor:
        """(..., D) to (..., V) logits; the head is the decoder's word table."""
        if self.packed_head is not None:
            return cast(Tensor, self.packed_head(hidden))
        return F.linear(hidden, self.decoder.wte.weight)

    def get_input_embeddings(self) -> nn.Module:
        """The decoder's word table, which is also the head."""
        return self.decoder.wte

    def encode_source(self, name: str, batch: Mapping[str, Tensor]) -> Encoded:
        """Encode one source from its ids, mask and, where given, position ids (B, S)."""
        encoder = cast(SourceEncoder, self.encoders[SHARED if self.config.share_encoder else name])
        mask, places = batch["attention_mask"], batch.get("position_ids")
        if places is None:
            places = positions_back(mask) if name in self.config.count_back else positions(mask)
        return cast(Encoded, encoder(batch["input_ids"], mask, places))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        memory: Memory | None = None,
        sources: SourceBatch | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> Output:
        """Read prompt and reply (B, T); see ``Output`` for what comes back.

        ``attention_mask`` (B, past + T) is 1 on real tokens; positions come from it unless given. The sources
        come encoded (``memory``) or as ids (``sources``). The head runs on labelled positions, or on the last
        ``logits_to_keep`` (0: all).
        """
        if memory is None:
            memory = self.encode(sources or {})
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config.decoder)
        ordered = [memory[name] for name in self.config.sources]
        hidden = self.decoder(input_ids, attention_mask, position_ids, ordered, past_key_values)
        if labels is not None:
            loss, logits, nll = self.label_loss(hidden, self.head, labels, num_items_in_batch)
            return Output(loss=loss, logits=logits, nll=nll, terms={"nll": loss.detach()})
        kept = hidden[:, -logits_to_keep:] if logits_to_keep else hidden
        return Output(logits=self.head(kept), past_key_values=past_key_values)

    def _initialize_weights(self, module: nn.Module, is_custom_code: bool = False) -> None:
        """transformers passes over a module of custom code without parameters of its own; ours count too."""
        super()._initialize_weights(module)

    def _init_weights(self, module: nn.Module) -> None:
        """GPT-2's scheme: N(0, 0.02), output projections scaled down with depth."""
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        decoder: GPT2Config = self.config.decoder
        if isinstance(module, Conv1D):
            init.normal_(module.weight, std=decoder.initializer_range)
            init.zeros_(module.bias)
        elif isinstance(module, GPT2Attention | GPT2MLP | SourceAttention):
            init.normal_(module.c_proj.weight, std=decoder.initializer_range / math.sqrt(2 * decoder.n_layer))
        elif isinstance(module, Fusion):
            module.initialise()


class Decoder(nn.Module):
    """GPT-2 with sources; parameter names are those of ``GPT2Model``, so that its checkpoints load."""

    def __init__(self, config: FusedConfig) -> None:
        super().__init__()
        self.config: GPT2Config = config.decoder
        self.wte = nn.Embedding(config.vocab_size, self.config.n_embd)
        self.wpe = nn.Embedding(self.config.n_positions, self.config.n_embd)
        self.drop = nn.Dropout(self.config.embd_pdrop)
        self.h = nn.ModuleList([build_block(config, layer) for layer in range(self.config.n_layer)])
        self.ln_f = nn.LayerNorm(self.config.n_embd, eps=self.config.layer_norm_epsilon)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        sources: list[Encoded],
        cache: Cache | None,
    ) -> Tensor:
        """(B, T, D) states after the final layer norm."""
        if attention_mask is None:
            seen = cache.get_seq_length() if cache is not None else 0
            attention_mask = input_ids.new_ones(input_ids.shape[0], seen + input_ids.shape[1])
        if position_ids is None:
            position_ids = positions(attention_mask)[:, -input_ids.shape[1] :]
        hidden = self.drop(self.wte(input_ids) + self.wpe(position_ids))
        mask = create_causal_mask(self.config, hidden, attention_mask, cache)
        for block in self.h:
            hidden = block(hidden, sources, mask, cache)
        return cast(Tensor, self.ln_f(hidden))


def build_encoder(config: FusedConfig) -> SourceEncoder:
    """One source encoder."""
    return SourceEncoder(pooler=config.pooler, **config.encoder.to_dict())


def build_block(config: FusedConfig, layer: int) -> AfterBlock:
    """One decoder block: GPT-2's parts, one question per source, the fusion."""
    decoder: GPT2Config = config.decoder
    width, sources = decoder.n_embd, len(config.sources)
    fusion = build_fusion(config.fusion or {}, width, sources) if sources else None
    distinct = [build_ask(decoder) for _ in range(1 if config.share_attention else sources)]
    states = config.encoder.hidden_size
    return AfterBlock(
        ln_1=nn.LayerNorm(width, eps=decoder.layer_norm_epsilon),
        attn=GPT2Attention(decoder, layer_idx=layer),
        asks=distinct,
        fusion=fusion,
        ln_2=nn.LayerNorm(width, eps=decoder.layer_norm_epsilon),
        mlp=GPT2MLP(decoder.n_inner or 4 * width, decoder),
        bridge=nn.Linear(states, width) if sources and states != width else None,
    )


def build_fusion(chosen: Mapping[str, Any], dim: int, sources: int) -> Fusion:
    """The fusion that a recipe chose."""
    if "name" not in chosen:
        raise UserError(f"model.fusion names no method: set model.fusion.name to one of {', '.join(Fusion.names())}")
    options = {key: value for key, value in chosen.items() if key != "name"}
    return Fusion.build(str(chosen["name"]), dim=dim, sources=sources, **options)


def build_ask(decoder: GPT2Config) -> AskSource:
    """Layer norm and cross-attention for one source."""
    attention = SourceAttention(decoder.n_embd, decoder.n_head, decoder.attn_pdrop, decoder.resid_pdrop)
    return AskSource(nn.LayerNorm(decoder.n_embd, eps=decoder.layer_norm_epsilon), attention)
