"""Configuration of the fused model, as saved beside its weights."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import BertConfig, GPT2Config, PreTrainedConfig

from personae.errors import UserError


@strict
class FusedConfig(PreTrainedConfig):
    """What a ``FusedModel`` is made of.

    sources: names, in the order that the fusion sees them; fusion: ``{"name": ..., option: ...}``;
    decoder: fields of ``GPT2Config``; encoder: fields of ``BertConfig``, and ``pooler``;
    share_encoder: one encoder for all sources; share_attention: one cross-attention and layer norm per layer
    for all sources; share_words: encoders read the decoder's word table.
    """

    model_type = "personae-fused"
    sub_configs: ClassVar[dict[str, Any]] = {"decoder": GPT2Config, "encoder": BertConfig}

    sources: list[str] | tuple[str, ...] = ("persona", "context")
    fusion: dict[str, Any] | None = None
    decoder: GPT2Config | dict[str, Any] | None = None
    encoder: BertConfig | dict[str, Any] | None = None
    pooler: bool = False
    share_encoder: bool = False
    share_attention: bool = False
    share_words: bool = False
    vocab_size: int = 50265
    bos_token_id: int | None = 50262
    eos_token_id: int | list[int] | None = 50263
    pad_token_id: int | None = 50264
    tie_word_embeddings: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        ids = {"vocab_size": self.vocab_size, "pad_token_id": self.pad_token_id}
        marks = {"bos_token_id": self.bos_token_id, "eos_token_id": self.eos_token_id}
        self.sources = list(self.sources)
        self.fusion = dict(self.fusion or {"name": "paa"})
        self.decoder = GPT2Config(**{**_fields(self.decoder), **ids, **marks})
        self.encoder = BertConfig(**{**_fields(self.encoder), **ids})
        if self.share_words and self.encoder.hidden_size != self.decoder.hidden_size:
            raise UserError("model.share_words needs encoder and decoder of the same width")
        super().__post_init__(**kwargs)


def _fields(config: PreTrainedConfig | dict[str, Any] | None) -> dict[str, Any]:
    return config.to_dict() if isinstance(config, PreTrainedConfig) else dict(config or {})
