"""DialogueModel: to ``generate()`` a causal language model, with its sources encoded once into a memory."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor
from transformers import GenerationMixin, PreTrainedModel, PreTrainedTokenizerFast
from transformers.cache_utils import Cache
from transformers.utils import ModelOutput

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.memory import Encoded, Memory
from personae.registry import Registrable
from personae.text.collate import IGNORED
from personae.text.pack import REPLY, Packed

SourceBatch = Mapping[str, Mapping[str, Tensor]]


@dataclass
class Output(ModelOutput):
    """What a forward pass returns.

    loss: scalar, nats; logits: (B, T, V), or with labels only the (M, V) rows that predict a label;
    nll: (B, T) nats of each label at its own position, 0 where there is none; terms: every loss term by name;
    past_key_values: the self-attention cache; choice_logits: (B, C) scores of candidate replies, where they were given.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    nll: Tensor | None = None
    terms: dict[str, Tensor] | None = None
    past_key_values: Cache | None = None
    choice_logits: Tensor | None = None


@contextmanager
def refused() -> Iterator[None]:
    """What a configuration or a part refuses, in one line: the user set it."""
    try:
        yield
    except UserError:
        raise
    except (TypeError, ValueError, KeyError, AssertionError, StrictDataclassError) as error:
        raise UserError(f"model: {' '.join(str(error).split())}") from error


@dataclass(frozen=True)
class LoadReport:
    """What happened to the keys of a checkpoint: nothing stays unsaid."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    reshaped: tuple[str, ...]

    def lines(self) -> list[str]:
        """One line per kind of key that did not fit."""
        kinds = ("missing", "unexpected", "reshaped")
        return [f"{kind}: {len(getattr(self, kind))} {', '.join(getattr(self, kind))}" for kind in kinds]


class DialogueModel(PreTrainedModel, GenerationMixin, Registrable):
    """A network that answers from several sources."""

    main_input_name = "input_ids"

    def encode(self, sources: SourceBatch) -> Memory:
        """Encode every source of a batch, once per reply."""
        return Memory({name: self.encode_source(name, batch) for name, batch in sources.items()})

    @classmethod
    def model_type(cls) -> str:
        """The ``model_type`` in the configuration of this model's checkpoints."""
        return str(cls.config_class.model_type)  # type: ignore[union-attr]

    @classmethod
    @abstractmethod
    def create(
        cls,
        sources: Sequence[str],
        fusion: Mapping[str, Any],
        ids: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Self:
        """Make a model with random weights from a recipe's plain values.

        ``ids``: vocab_size, bos_token_id, eos_token_id, pad_token_id. Raises ``UserError`` for an unknown or
        unfit option.
        """

    @abstractmethod
    def load_decoder(self, folder: str) -> LoadReport:
        """Start the decoder from a checkpoint (local folder or hub name) and report every key that did not fit."""

    @property
    @abstractmethod
    def window(self) -> dict[str, int]:
        """The most tokens: per source, and for ``decoder`` (prompt and reply together)."""

    @property
    def voices(self) -> tuple[str, ...]:
        """Whom a layer's contributions come from, in order: the sources, before them ``reply`` where it has one."""
        own = any(isinstance(module, Fusion) and module.own for module in self.modules())
        return ((REPLY,) if own else ()) + tuple(self.config.sources)

    @property
    def reads_sources(self) -> bool:
        """Whether training needs ``labels`` (B, S) for the sources too."""
        return False

    @property
    def ranks(self) -> bool:
        """Whether a head tells the right reply from others, for which training needs ``candidates`` (B, C, T)."""
        return False

    @property
    def candidate_end(self) -> str | None:
        """The special token that follows a candidate's end token, for that head to read (None: nothing)."""
        return None

    @property
    def objectives(self) -> tuple[str, ...]:
        """Losses that training minimises in turn, a step each a batch: ``objective`` of ``forward``; none: one loss."""
        return ()

    @property
    def keeps_moving(self) -> bool:
        """Whether an objective's step also moves parameters without a gradient, by momentum and weight decay."""
        return False

    def begin_step(self, step: int) -> None:
        """Hear that optimiser step ``step`` is next, counted from 0: for what changes in the course of training."""
        return

    def read_corpus(self, tokenizer: PreTrainedTokenizerFast, examples: Sequence[Packed]) -> None:
        """See the training examples before the first step: for what is counted, not trained. Not for checkpoints."""
        return

    @abstractmethod
    def pack(self) -> Self:
        """Turn this model to bf16 for inference, weights packed for the CPU's matrix units where it has them.

        The model can no longer be trained or saved. Returns itself.
        """

    @abstractmethod
    def encode_source(self, name: str, batch: Mapping[str, Tensor]) -> Encoded:
        """Encode source ``name`` from its ``input_ids`` and ``attention_mask`` (B, S)."""

    @torch.no_grad()
    def generate(  # type: ignore[override]
        self,
        inputs: Tensor | None = None,
        sources: SourceBatch | None = None,
        memory: Memory | None = None,
        **kwargs: Any,
    ) -> Any:
        """transformers' ``generate`` on (B, T) prompts; ``sources`` are encoded unless ``memory`` is given."""
        if kwargs.get("custom_generate") is not None and kwargs.get("streamer") is not None:
            raise UserError("generate: a custom_generate cannot be streamed: leave out streamer")
        if memory is None:
            memory = self.encode(sources or {})
        return super().generate(inputs, memory=memory, **kwargs)  # type: ignore[misc]

    def label_loss(
        self, hidden: Tensor, head: Callable[[Tensor], Tensor], labels: Tensor, items: Tensor | int | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Cross-entropy at the labelled positions only.

        hidden (B, T, D) predicts labels (B, T) one position later; head maps (M, D) to (M, V).
        ``items`` divides the sum instead of the number of labels (gradient accumulation). Returns loss,
        logits (M, V), nll (B, T).
        """
        targets = F.pad(labels[:, 1:], (0, 1), value=IGNORED)
        scored = targets != IGNORED
        logits = head(hidden[scored])
        each = F.cross_entropy(logits.float(), targets[scored], reduction="none")
        nll = each.new_zeros(targets.shape).masked_scatter(scored, each).roll(1, dims=1)
        divisor = scored.sum().clamp_min(1) if items is None else items
        return each.sum() / divisor, logits, nll


def refuse_types(given: Mapping[str, Any]) -> None:
    """For a model without types of tokens: none is passed over in silence."""
    if given.get("token_type_ids") is not None:
        raise UserError("this model knows no types of tokens: set text.types=none")


def build_fusion(chosen: Mapping[str, Any], dim: int, sources: int, beside: bool = False) -> Fusion:
    """The fusion that a recipe chose; ``beside`` self-attention it has one view more than sources."""
    if "name" not in chosen:
        raise UserError(f"model.fusion names no method: set model.fusion.name to one of {', '.join(Fusion.names())}")
    name, options = str(chosen["name"]), {key: value for key, value in chosen.items() if key != "name"}
    if not beside:
        return Fusion.build(name, dim=dim, sources=sources, **options)
    if not Fusion.get(name).outputs_only:
        fit = ", ".join(each for each in Fusion.names() if Fusion.get(each).outputs_only)
        raise UserError(
            f"fusion '{name}' cannot have self-attention beside it: set model.options.block=after, or {fit}"
        )
    return Fusion.build(name, dim=dim, sources=sources + 1, **options)
