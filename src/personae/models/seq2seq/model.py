"""The seq2seq model. Shapes: B batch, T prompt and reply, S source, D width, V vocabulary, M labelled rows."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.encoder import positions
from personae.layers.memory import Encoded, Memory
from personae.layers.packed import PackedLinear, can_pack, pack_linears
from personae.models.base import DialogueModel, LoadReport, Output, SourceBatch, refuse_types, refused
from personae.models.seq2seq.config import Seq2seqConfig, check_options
from personae.models.seq2seq.layers import Convolutions, NarrowAttention, SelfAttention
from personae.models.seq2seq.network import Stack, build_decoder, build_encoder
from personae.models.seq2seq.pointer import Copies, Pointer, Quotable, copies
from personae.text.collate import IGNORED

SHARED = "shared"


@DialogueModel.register("seq2seq")
class Seq2seqModel(DialogueModel):
    """Transformer encoder-decoder with convolutions between its layers (Cao et al. 2020, baseline Seq2seq).

    One word table serves encoders, decoder and head. Several sources are fused as in the fused model. The paper has
    a vocabulary of whole words that start as GloVe vectors; here words are what the recipe's tokenizer makes of
    them, and they start at random.
    """

    config: Seq2seqConfig
    config_class = Seq2seqConfig
    base_model_prefix = ""
    _supports_sdpa = True
    _no_split_modules = ["ConvolutionBlock"]  # noqa: RUF012  (transformers declares it as an instance attribute)

    def __init__(self, config: Seq2seqConfig) -> None:
        super().__init__(config)
        names = [SHARED] if config.share_encoder else list(config.sources)
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.encoders = nn.ModuleDict({name: build_encoder(config) for name in names})
        self.decoder = build_decoder(config)
        self.head_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.pointer = Pointer(config.hidden_size) if config.pointer else None
        self.packed_head: PackedLinear | None = None
        if config.pointer and not self.decoder.asks:
            raise UserError("model.options.pointer copies where attention looks, and this fusion uses no attention")
        self.post_init()  # type: ignore[no-untyped-call]

    @classmethod
    def create(
        cls,
        sources: Sequence[str],
        fusion: Mapping[str, Any],
        ids: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Self:
        """See ``DialogueModel.create``; ``options`` are fields of ``Seq2seqConfig``."""
        check_options(options)
        with refused():
            return cls(Seq2seqConfig(sources=list(sources), fusion=dict(fusion), **ids, **options))

    def load_decoder(self, folder: str) -> LoadReport:
        """Not possible: there is no checkpoint that a decoder of this kind could start from."""
        raise UserError(f"model.weights='{folder}': a seq2seq model starts at random; leave model.weights out")

    @property
    def window(self) -> dict[str, int]:
        """``max_positions`` everywhere; the network itself has no limit."""
        return dict.fromkeys([*self.config.sources, "decoder"], self.config.max_positions)

    def pack(self) -> Self:
        """See ``DialogueModel.pack``; the head gets a packed copy of the word table, convolutions stay as they are."""
        self.bfloat16()
        if self.device.type == "cpu" and can_pack():
            pack_linears(self)
            self.packed_head = PackedLinear(self.words.weight, self.head_bias)
        return self

    def head(self, hidden: Tensor, found: Copies | None) -> Tensor:
        """(..., D) to (..., V) logits, which with a pointer are log-probabilities; ``found``: what it may copy."""
        if self.packed_head is not None:
            logits = cast(Tensor, self.packed_head(hidden))
        else:
            logits = F.linear(hidden, self.words.weight, self.head_bias)
        return logits if self.pointer is None else cast(Tensor, self.pointer(hidden, logits, found))

    def get_input_embeddings(self) -> nn.Module:
        """The word table, which is also the head."""
        return self.words

    def encode_source(self, name: str, batch: Mapping[str, Tensor]) -> Encoded:
        """Encode one source from its ids and mask (B, S)."""
        refuse_types(batch)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        encoder = self.encoders[SHARED if self.config.share_encoder else name]
        return Quotable(encoder(self.words(ids), mask), mask.bool(), ids=ids)

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
        """Read prompt and reply (B, T); see ``FusedModel.forward``.

        With ``label_smoothing`` the terms are ``nll`` and ``smoothing``, what the smoothed loss has beyond it.
        """
        refuse_types(kwargs)
        memory = self.encode(sources or {}) if memory is None else memory
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        hidden, found = self.decode(input_ids, attention_mask, position_ids, past_key_values, memory)
        if labels is not None:
            return self.loss_of(hidden, found, labels, num_items_in_batch)
        kept = (slice(None), slice(-logits_to_keep or None, None))
        logits = self.head(hidden[kept], None if found is None else found.at(kept))
        return Output(logits=logits, past_key_values=past_key_values)

    def decode(
        self, ids: Tensor, mask: Tensor | None, places: Tensor | None, cache: Cache | None, memory: Memory
    ) -> tuple[Tensor, Copies | None]:
        """States (B, T, D), and with a pointer what each position may copy."""
        if mask is None:
            seen = cache.get_seq_length() if cache is not None else 0
            mask = ids.new_ones(ids.shape[0], seen + ids.shape[1])
        if places is None:
            places = positions(mask)[:, -ids.shape[1] :]
        ordered = [memory[name] for name in self.config.sources]
        hidden, views = self.decoder(self.words(ids), mask, places, ordered, cache)
        if self.pointer is None:
            return hidden, None
        return hidden, copies(self.decoder.asks, [view.query for view in views], ordered)

    def loss_of(self, hidden: Tensor, found: Copies | None, labels: Tensor, items: Tensor | int | None) -> Output:
        """Loss, logits of the labelled rows and terms."""
        targets = F.pad(labels[:, 1:], (0, 1), value=IGNORED)
        rows = targets != IGNORED
        head = partial(self.head, found=None if found is None else found.at(rows))
        loss, logits, nll = self.label_loss(hidden, head, labels, items)
        terms = {"nll": loss.detach()}
        if self.config.label_smoothing:
            divisor = rows.sum().clamp_min(1) if items is None else items
            smoothed = self.smoothed(logits, targets[rows]) / divisor
            terms["smoothing"] = smoothed.detach() - terms["nll"]
            loss = smoothed
        return Output(loss=loss, logits=logits, nll=nll, terms=terms)

    def smoothed(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Sum of KL(q || p) in nats over rows (M, V).

        q gives its label 1 - s and every other word s / (V - 2), padding nothing; s is ``label_smoothing``.
        """
        share = self.config.label_smoothing
        each = share / (self.config.vocab_size - 2)
        wanted = torch.full_like(logits, each, dtype=torch.float32)
        wanted[:, self.config.pad_token_id] = 0
        wanted.scatter_(1, targets[:, None], 1 - share)
        return F.kl_div(logits.float().log_softmax(-1), wanted, reduction="sum")

    def _initialize_weights(self, module: nn.Module, is_custom_code: bool = False) -> None:
        """transformers passes over a module of custom code without parameters of its own; ours count too."""
        super()._initialize_weights(module)

    def _init_weights(self, module: nn.Module) -> None:
        """Where the paper starts from GloVe: words N(0, 1 / D), which their projection brings to the scale of the
        positions; attentions and convolutions as PyTorch starts them.
        """
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        if module is self:
            init.normal_(self.words.weight, std=self.config.hidden_size**-0.5)
            init.zeros_(self.head_bias)
        elif isinstance(module, Stack):
            init.normal_(module.project.weight, std=1.0)
        elif isinstance(module, SelfAttention | NarrowAttention | Convolutions):
            for part in module.children():
                if isinstance(part, nn.Linear | nn.Conv1d):
                    init.kaiming_uniform_(part.weight, a=math.sqrt(5))
        elif isinstance(module, Fusion):
            module.initialise()
