"""Configuration of the seq2seq model, as saved beside its weights."""

from collections.abc import Mapping
from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from personae.errors import UserError, nearest


@strict
class Seq2seqConfig(PreTrainedConfig):
    """What a ``Seq2seqModel`` is made of; the defaults are the published size (Cao et al. 2020, Seq2seq).

    sources: names, in the order that the fusion sees them; fusion: ``{"name": ..., option: ...}``; hidden_size: of
    word vectors and states; num_hidden_layers, num_attention_heads: of encoder and decoder alike; depth: of queries,
    keys and values, all heads together; filter_size: width between the two convolutions; dropout: on the words and
    what every sub-layer adds; max_positions: the most tokens of a source, and of prompt and reply; share_encoder:
    one encoder for all sources; pointer: words may be copied from the sources; label_smoothing: share of each
    label's probability that is spread over the other words.
    """

    model_type = "personae-seq2seq"

    sources: list[str] | tuple[str, ...] = ("context",)
    fusion: dict[str, Any] | None = None
    hidden_size: int = 300
    num_hidden_layers: int = 6
    num_attention_heads: int = 4
    depth: int = 40
    filter_size: int = 50
    dropout: float | int = 0.0
    max_positions: int = 512
    share_encoder: bool = False
    pointer: bool = False
    label_smoothing: float | int = 0.0
    vocab_size: int = 50265
    bos_token_id: int | None = 50262
    eos_token_id: int | list[int] | None = 50263
    pad_token_id: int | None = 50264

    def __post_init__(self, **kwargs: Any) -> None:
        self.sources, self.fusion = list(self.sources), dict(self.fusion or {})
        if not self.sources:
            raise UserError("model.sources is empty: a seq2seq model answers from at least one source")
        self._check()
        super().__post_init__(**kwargs)  # type: ignore[no-untyped-call]

    def _check(self) -> None:
        """Refuse sizes that make no network."""
        for name in ("num_hidden_layers", "num_attention_heads", "depth", "filter_size", "max_positions"):
            if getattr(self, name) < 1:
                raise UserError(f"model.options.{name} is at least 1, not {getattr(self, name)}")
        for name in ("dropout", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"model.options.{name} is at least 0 and less than 1, not {getattr(self, name)}")
        if self.hidden_size < 4 or self.hidden_size % 2:
            raise UserError(f"model.options.hidden_size is even and at least 4, not {self.hidden_size}")
        if self.depth % self.num_attention_heads:
            raise UserError(
                f"model.options.depth={self.depth} must be a multiple of num_attention_heads={self.num_attention_heads}"
            )


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse keys that are no option of the model, naming the nearest."""
    given_apart = {"model_type", "sources", "fusion", "vocab_size", "bos_token_id", "eos_token_id", "pad_token_id"}
    known = Seq2seqConfig.__annotations__.keys() - given_apart
    for key in options:
        if key not in known:
            raise UserError(f"unknown recipe key 'model.options.{key}'.{nearest(key, known)}")
