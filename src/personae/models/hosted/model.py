"""The hosted model. Shapes: B batch, T prompt and reply, P the same so far, S source, D width, M labelled rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache
from transformers.pytorch_utils import Conv1D

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.blocks import ReplySoFar, looks
from personae.layers.encoder import positions
from personae.layers.memory import Encoded, Memory
from personae.layers.packed import PackedLinear, can_pack, pack_linears
from personae.models.base import DialogueModel, LoadReport, Output, SourceBatch, refused
from personae.models.hosted import lora
from personae.models.hosted.added import AfterLayer, Asking, attach, attach_head
from personae.models.hosted.build import (
    SHARED,
    build_after,
    build_base,
    build_encoders,
    build_words,
    chosen_layers,
    load_base,
)
from personae.models.hosted.config import ALL, BASE, BERT, LORA, WEIGHTS, HostedConfig, check_options, read_base
from personae.models.hosted.layout import check_base, layers_of, takes_positions
from personae.text.collate import IGNORED

# Of a base that counts no positions.
ENDLESS = 1 << 30


@DialogueModel.register("hosted")
class HostedModel(DialogueModel):
    """Any decoder-only model of transformers, with sources asked behind its layers; at first it answers as before.

    ``base`` is the decoder, each parameter under its own name; ``added`` holds by a layer's number what asks the
    sources behind it; ``words`` the rows of words that are not the base's.
    """

    config: HostedConfig
    config_class = HostedConfig
    base_model_prefix = ""
    _supports_sdpa = True

    def __init__(self, config: HostedConfig, base: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        self.base = build_base(config) if base is None else base
        layers = layers_of(self.base)
        chosen = chosen_layers(config, len(layers))
        self.depth, self.takes_positions = len(layers), takes_positions(self.base)
        self.encoders = build_encoders(config)
        self.added = nn.ModuleDict({str(at): build_after(config, at) for at in chosen})
        self.words = build_words(config, self.base)
        attach(layers, chosen)
        attach_head(self.base.get_output_embeddings())
        self.post_init()  # type: ignore[no-untyped-call]
        # After the weights' start, which would give the additions an effect.
        if config.tune == LORA:
            lora.add_lora(self.base, layers, config.lora or {})
        self.freeze()

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """transformers' ``from_pretrained``, which makes every weight trainable; here a frozen base stays frozen."""
        loaded = super().from_pretrained(*args, **kwargs)
        (loaded[0] if isinstance(loaded, tuple) else loaded).freeze()
        return loaded

    def freeze(self) -> None:
        """Let of the base only that be trained which ``tune`` names."""
        for name, parameter in self.base.named_parameters():
            parameter.requires_grad_(self.config.tune == ALL or ".lora_" in name)

    @classmethod
    def create(
        cls,
        sources: Sequence[str],
        fusion: Mapping[str, Any],
        ids: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Self:
        """See ``DialogueModel.create``; ``options`` are fields of ``HostedConfig`` and, for its base, either ``base``,
        a folder or hub name with weights to start from, or ``base_config``, fields of a configuration for random ones.

        On the meta device only the base's configuration is read.
        """
        check_options(options)
        own = {key: value for key, value in options.items() if key not in WEIGHTS}
        where = options.get("base")
        weightless = torch.empty(0).device.type == "meta"
        with refused():
            base = read_base(options, int(ids["vocab_size"]))
            config = HostedConfig(sources=list(sources), fusion=dict(fusion), base=base, **ids, **own)
            model = cls(config, None if weightless or where is None else load_base(config, str(where)))
        if not weightless:
            check_base(model.base, layers_of(model.base), config.width)
            model.start_words()
        return model

    @torch.no_grad()
    def start_words(self) -> None:
        """Begin the model's own words from the base's."""
        if self.words is not None:
            end = self.config.text.eos_token_id
            ends = [each for each in (end if isinstance(end, list) else [end]) if each is not None]
            head: Any = self.base.get_output_embeddings()
            last = len(head.weight) - 1
            near = ends[0] if ends and 0 <= ends[0] <= last else last
            self.words.start(self.get_input_embeddings(), head, near, self.config.initializer_range)

    def load_decoder(self, folder: str) -> LoadReport:
        """Not possible: the base's own weights are the start."""
        raise UserError(f"model.weights='{folder}': a hosted model starts from model.options.base; leave it out")

    @property
    def window(self) -> dict[str, int]:
        """The base's positions, for the sources too where it reads them."""
        most = int(getattr(self.config.text, "max_position_embeddings", None) or ENDLESS)
        each = self.config.encoder.max_position_embeddings if self.config.encoder_kind == BERT else most
        return {**dict.fromkeys(self.config.sources, int(each)), "decoder": most}

    def get_input_embeddings(self) -> nn.Module:
        """The base's word table."""
        return self.base.get_input_embeddings()

    def embed(self, ids: Tensor, types: Tensor | None) -> Tensor:
        """(B, T, D) words, and types: a type is a token whose embedding is added (Wolf et al. 2019)."""
        table = self.get_input_embeddings()
        embedded: Tensor = table(ids) if self.words is None else self.words.embed(table, ids)
        return embedded if types is None else embedded + self.embed(types, None)

    def read(self, ids: Tensor, mask: Tensor, places: Tensor | None, types: Tensor | None) -> dict[str, Tensor]:
        """What the base is given for ids (B, T) and mask (B, P); positions come from the mask unless given."""
        given = {"inputs_embeds": self.embed(ids, types), "attention_mask": mask.long()}
        if not self.takes_positions:
            return given
        return {**given, "position_ids": positions(mask)[:, -ids.shape[1] :] if places is None else places}

    def encode_source(self, name: str, batch: Mapping[str, Tensor]) -> Encoded:
        """Encode one source from its ids, mask and, where given, position and type ids (B, S)."""
        ids, mask = batch["input_ids"], batch["attention_mask"]
        places, types = batch.get("position_ids"), batch.get("token_type_ids")
        if self.config.encoder_kind == BASE:
            states = self.base.base_model(**self.read(ids, mask, places, types), use_cache=False).last_hidden_state
            return Encoded(states, mask.bool())
        encoder = self.encoders[SHARED if self.config.share_encoder else name]
        return cast(Encoded, encoder(ids, mask, places, types))

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
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> Output:
        """Read prompt and reply (B, T); see ``FusedModel.forward``."""
        if memory is None:
            memory = self.encode(sources or {})
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config.text)
        if attention_mask is None:
            seen = past_key_values.get_seq_length() if past_key_values is not None else 0
            attention_mask = input_ids.new_ones(input_ids.shape[0], seen + input_ids.shape[1])
        rows = None if labels is None else F.pad(labels[:, 1:], (0, 1), value=IGNORED) != IGNORED
        asking = self.asking(memory, rows, self.past(attention_mask, input_ids.shape[1], past_key_values))
        with asking.active():
            logits: Tensor = self.base(
                **self.read(input_ids, attention_mask, position_ids, token_type_ids),
                past_key_values=past_key_values,
                use_cache=past_key_values is not None,
                logits_to_keep=0 if labels is not None else logits_to_keep,
            ).logits
        if labels is None:
            return Output(logits=logits[:, -logits_to_keep:], past_key_values=past_key_values)
        # The head has run, on these rows alone.
        loss, logits, nll = self.label_loss(labels, lambda _: logits, labels, num_items_in_batch)
        return Output(loss=loss, logits=logits, nll=nll, terms={"nll": loss.detach()})

    def asking(self, memory: Memory, rows: Tensor | None, past: ReplySoFar | None) -> Asking:
        """What one pass tells the base's layers and head; ``rows`` (B, T) is True where the head should run."""
        return Asking(
            words=self.config.vocab_size,
            added=cast(Mapping[str, AfterLayer], self.added),
            sources=[memory[name] for name in self.config.sources],
            past=past,
            rows=rows,
            own=self.words,
        )

    def past(self, mask: Tensor, time: int, cache: Cache | None) -> ReplySoFar | None:
        """What fusions that are not stepwise know of the reply; None where all are stepwise.

        Raises ``UserError`` for a mask or cache that such a fusion, or any, cannot work with.
        """
        if mask.dim() != 2:
            raise UserError("this model reads a (B, T) mask, and no static cache: leave out cache_implementation")
        fusions = (cast(AfterLayer, each).fusion for each in self.added.values())
        if all(fusion is None or fusion.stepwise for fusion in fusions):
            return None
        if cache is not None and type(cache) is not DynamicCache:
            raise UserError(
                f"fusion '{(self.config.fusion or {}).get('name')}' keeps earlier positions in a DynamicCache, and "
                f"this is a {type(cache).__name__}: leave out cache_implementation"
            )
        return ReplySoFar(looks(mask, time), cache, self.depth)

    def pack(self) -> Self:
        """See ``DialogueModel.pack``; LoRA is merged into the base first, and buffers keep their precision.

        Rotary frequencies are buffers: in bf16 they would turn far positions by wrong angles.
        """
        if self.config.tune == LORA:
            lora.merge_lora(self.base)
        for parameter in self.parameters():
            parameter.data = parameter.data.bfloat16()
        if self.device.type == "cpu" and can_pack():
            for part in (*layers_of(self.base), self.added, self.encoders):
                pack_linears(part)
            head: Any = self.base.get_output_embeddings()
            packed = PackedLinear(head.weight, head.bias)
            attach_head(packed)
            self.base.set_output_embeddings(packed)
        return self

    def export_adapter(self, folder: Path | str) -> None:
        """Write what was learned with ``tune=lora``, without the base: PEFT's files, and beside them the sources'.

        ``load_adapter`` takes all of it; PEFT can load its own two files onto the same base, without sources.
        """
        self._needs_lora()
        lora.export(self.base, self.beside(), Path(folder))

    @torch.no_grad()
    def load_adapter(self, folder: Path | str) -> LoadReport:  # type: ignore[override]
        """Take over an exported adapter and what lies beside it; ``missing``: keys of ours, where nothing does.

        Raises ``UserError`` for one of another base, of other numbers (r, alpha), or with other sources.
        """
        self._needs_lora()
        ours = self.beside()
        weights, theirs = lora.read(self.base, self.config.lora or {}, Path(folder))
        if theirs:  # all is checked before anything is replaced
            lora.check_fit(ours, theirs, Path(folder))
        lora.put(self.base, weights)
        for key, value in theirs.items():
            ours[key].copy_(value)
        return LoadReport(missing=() if theirs else tuple(ours), unexpected=(), reshaped=())

    def beside(self) -> dict[str, Tensor]:
        """All weights that are not the base's."""
        return {key: value for key, value in self.state_dict().items() if not key.startswith("base.")}

    def _needs_lora(self) -> None:
        if self.config.tune != LORA:
            raise UserError(f"this model has no adapter: it was made with model.options.tune={self.config.tune}")

    def _initialize_weights(self, module: nn.Module, is_custom_code: bool = False) -> None:
        """transformers passes over a module of custom code without parameters of its own; ours count too."""
        super()._initialize_weights(module)

    def _init_weights(self, module: nn.Module) -> None:
        """The base's deviation for all that is added, no effect at first."""
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        if isinstance(module, Conv1D):
            init.normal_(module.weight, std=self.config.initializer_range)
            init.zeros_(module.bias)
        elif isinstance(module, AfterLayer):
            init.zeros_(module.out.weight)
        elif isinstance(module, Fusion):
            module.initialise()
