"""The fused model: encoders for the sources, a GPT-2 decoder whose blocks hold the fusion."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention
from transformers.pytorch_utils import Conv1D

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.attention import SourceAttention
from personae.layers.encoder import SourceEncoder, positions, positions_back
from personae.layers.heads import BinaryHead, CandidateHead, ChoiceHead, gold_rows
from personae.layers.memory import Encoded, Memory
from personae.layers.packed import PackedLinear, can_pack, pack_linears
from personae.models.base import DialogueModel, LoadReport, Output, SourceBatch, refused
from personae.models.fused.config import BERT, BESIDE, BINARY, CHOICE, ITSELF, NO_HEAD, FusedConfig, check_options
from personae.models.fused.decoder import Decoder, build_decoder, build_gpt2_encoder
from personae.models.fused.pretrained import copy_to_sources, load_gpt2
from personae.text.collate import IGNORED
from personae.text.pack import REPLY
from personae.text.tokenizer import CLASSIFY

SHARED = "shared"


@DialogueModel.register("fused")
class FusedModel(DialogueModel):
    """GPT-2 decoder with encoded sources fused in every layer (Huang et al. 2023, Eq. 1 to 8)."""

    config: FusedConfig
    config_class = FusedConfig
    base_model_prefix = ""
    _supports_sdpa = True
    _no_split_modules = ["AfterBlock", "BesideBlock", "PostBesideBlock"]  # noqa: RUF012  (transformers declares it as an instance attribute)

    def __init__(self, config: FusedConfig) -> None:
        super().__init__(config)
        # transformers hands this on to sub-models only, and the decoder's blocks are ours.
        config.decoder._attn_implementation = config._attn_implementation
        config.encoder._attn_implementation = config._attn_implementation
        names = [SHARED] if config.share_encoder else list(config.sources)
        own = config.encoder_kind != ITSELF and config.sources
        self.encoders = nn.ModuleDict({name: build_encoder(config) for name in names} if own else {})
        self.decoder = build_decoder(config)
        self.candidate_head = build_candidate_head(config)
        self.packed_head: PackedLinear | None = None
        if config.share_words:
            table = "bert.embeddings.word_embeddings" if config.encoder_kind == BERT else "wte"
            tables = (re.escape(f"encoders.{name}.{table}.weight") for name in names)
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
        with refused():
            return cls(FusedConfig(sources=list(sources), fusion=dict(fusion), **ids, **options))

    def load_decoder(self, folder: str) -> LoadReport:
        """Load GPT-2 weights in HF format into the decoder; sources and fusion keep their random start.

        Beside self-attention, source attentions start as copies of it and GPT-2 encoders as copies of the
        decoder (Cao et al. 2020, Section 3.1).
        """
        report = load_gpt2(self.decoder, self.config.decoder.n_head, folder)
        if self.config.block == BESIDE:
            copy_to_sources(self.decoder, [each for each in self.encoders.values() if isinstance(each, Decoder)])
        return report

    @property
    def window(self) -> dict[str, int]:
        """Encoder positions for every source, decoder positions for ``decoder``."""
        per_source = dict.fromkeys(self.config.sources, int(self.config.encoder.max_position_embeddings))
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
        """Encode one source from its ids, mask and, where given, position and type ids (B, S)."""
        mask, places, types = (batch.get(key) for key in ("attention_mask", "position_ids", "token_type_ids"))
        assert mask is not None
        if places is None:
            places = positions_back(mask) if name in self.config.count_back else positions(mask)
        causal = self.config.causal_encoder
        if self.config.encoder_kind == ITSELF:
            return self.decoder.encode(batch["input_ids"], mask, places, types, causal)
        encoder = self.encoders[SHARED if self.config.share_encoder else name]
        if isinstance(encoder, Decoder):
            return encoder.encode(batch["input_ids"], mask, places, types, causal)
        return cast(Encoded, encoder(batch["input_ids"], mask, places, types))

    @property
    def voices(self) -> tuple[str, ...]:
        """See ``DialogueModel.voices``."""
        return (REPLY, *self.config.sources) if self.config.block == BESIDE else super().voices

    @property
    def reads_sources(self) -> bool:
        """See ``DialogueModel.reads_sources``."""
        return bool(self.config.source_losses)

    @property
    def ranks(self) -> bool:
        """See ``DialogueModel.ranks``."""
        return self.candidate_head is not None

    @property
    def candidate_end(self) -> str | None:
        """See ``DialogueModel.candidate_end``."""
        return CLASSIFY if self.config.candidate_head == BINARY else None

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
        token_type_ids: Tensor | None = None,
        candidates: Mapping[str, Tensor] | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> Output:
        """Read prompt and reply (B, T); see ``Output`` for what comes back.

        ``attention_mask`` (B, past + T) is 1 on real tokens; positions come from it unless given. The sources come
        encoded (``memory``) or as ids (``sources``). The head runs on labelled positions, or on the last
        ``logits_to_keep`` (0: all). ``candidates`` as ``Collator`` makes them: the gold one repeats prompt and
        reply, which with ``labels`` are so read once.
        """
        memory = self.encode(sources or {}) if memory is None else memory
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config.decoder)
        ordered = [memory[name] for name in self.config.sources]
        read, scores = (None, None) if candidates is None else self.judge(candidates, ordered)
        if labels is not None and candidates is not None and read is not None:
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            hidden = gold_rows(read, candidates, mask)
        else:
            hidden = self.decoder(input_ids, attention_mask, position_ids, token_type_ids, ordered, past_key_values)
        if labels is not None:
            output = self.loss_of(hidden, labels, num_items_in_batch, sources or {}, memory)
            return output if scores is None else self.with_choice(output, scores, candidates or {})
        kept = hidden[:, -logits_to_keep:] if logits_to_keep else hidden
        return Output(logits=self.head(kept), past_key_values=past_key_values, choice_logits=scores)

    def loss_of(
        self, hidden: Tensor, labels: Tensor, items: Tensor | int | None, sources: SourceBatch, memory: Memory
    ) -> Output:
        """Loss, logits of the labelled rows and terms; the sources' own nats where they have labels.

        A part of a batch of ``items`` labels gets its share of them, so that the parts add up to the whole.
        """
        loss, logits, nll = self.label_loss(hidden, self.head, labels, items)
        terms, whole = {"nll": loss.detach()}, self.config.reply_loss * loss
        if self.reads_sources and sources and all("labels" in each for each in sources.values()):
            share = 1.0 if items is None else (labels != IGNORED).sum() / items
            for name, weight in (self.config.source_losses or {}).items():
                nats = share * self.label_loss(memory[name].states, self.head, sources[name]["labels"], None)[0]
                terms[f"nll_{name}"], whole = nats.detach(), whole + weight * nats
        return Output(loss=whole, logits=logits, nll=nll, terms=terms)

    def judge(self, candidates: Mapping[str, Tensor], sources: Sequence[Encoded]) -> tuple[Tensor, Tensor]:
        """Read candidate rows (B, C, T): their states (B, C, T, D) and the head's scores (B, C)."""
        if self.candidate_head is None:
            raise UserError(f"candidates need a head: set model.options.candidate_head={CHOICE} or {BINARY}")
        names = ("input_ids", "attention_mask", "position_ids", "token_type_ids")
        rows = [candidates[name].flatten(0, 1) if name in candidates else None for name in names]
        states = self.decoder(*rows, sources, None)
        scores = self.candidate_head(states, rows[1])
        shape = candidates["input_ids"].shape[:2]
        return states.unflatten(0, shape), scores.unflatten(0, shape)

    def with_choice(self, output: Output, scores: Tensor, candidates: Mapping[str, Any]) -> Output:
        """``output`` with the head's nats added, per example; ``examples``: so many, where this is a part of them."""
        assert self.candidate_head is not None
        assert output.terms is not None
        losses = self.candidate_head.losses(scores, candidates["labels"])
        nats = losses.sum() / candidates.get("examples", len(losses))
        output.terms = {**output.terms, "choice": nats.detach()}
        output.loss, output.choice_logits = output.loss + self.config.candidate_loss * nats, scores
        return output

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
        elif isinstance(module, GPT2Attention | GPT2MLP | SourceAttention) and hasattr(module, "c_proj"):
            init.normal_(module.c_proj.weight, std=decoder.initializer_range / math.sqrt(2 * decoder.n_layer))
        elif isinstance(module, Fusion):
            module.initialise()


def build_candidate_head(config: FusedConfig) -> CandidateHead | None:
    """What scores candidate replies."""
    decoder: GPT2Config = config.decoder
    if config.candidate_head == NO_HEAD:
        return None
    if config.candidate_head == CHOICE:
        return ChoiceHead(decoder.n_embd, decoder.summary_first_dropout)
    return BinaryHead(decoder.n_embd)


def build_encoder(config: FusedConfig) -> SourceEncoder | Decoder:
    """One source encoder."""
    if config.encoder_kind != BERT:
        return build_gpt2_encoder(config)
    return SourceEncoder(pooler=config.pooler, **config.encoder.to_dict())
