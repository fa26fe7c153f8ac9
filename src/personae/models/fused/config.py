"""Configuration of the fused model, as saved beside its weights."""

from collections.abc import Mapping
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import BertConfig, GPT2Config, PreTrainedConfig

from personae.errors import UserError, nearest

# The published GPT-2 sizes, at their true depth.
SIZES = {
    "small": {"n_embd": 768, "n_layer": 12, "n_head": 12},
    "medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
    "large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
}


@strict
class FusedConfig(PreTrainedConfig):
    """What a ``FusedModel`` is made of.

    sources: names, in the order that the fusion sees them; fusion: ``{"name": ..., option: ...}``;
    decoder: fields of ``GPT2Config``, or ``size``: small, medium, large;
    encoder: fields of ``BertConfig``;
    share_encoder: one encoder for all sources; share_attention: one cross-attention and layer norm per layer
    for all sources; pooler: keep the encoders' unused pooler, frozen; share_words: encoders read the
    decoder's word table; count_back: sources whose positions count from their last token, so that the current
    turn stands at the same place however long the history.
    """

    model_type = "personae-fused"
    sub_configs: ClassVar[dict[str, Any]] = {"decoder": GPT2Config, "encoder": BertConfig}

    sources: list[str] | tuple[str, ...] = ("persona", "context")
    fusion: dict[str, Any] | None = None
    # Any: given as a dictionary, held as GPT2Config and BertConfig.
    decoder: Any = None
    encoder: Any = None
    pooler: bool = False
    share_encoder: bool = False
    share_attention: bool = False
    share_words: bool = False
    count_back: list[str] | tuple[str, ...] = ()
    vocab_size: int = 50265
    bos_token_id: int | None = 50262
    eos_token_id: int | list[int] | None = 50263
    pad_token_id: int | None = 50264
    tie_word_embeddings: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        ids = {"vocab_size": self.vocab_size, "pad_token_id": self.pad_token_id}
        marks = {"bos_token_id": self.bos_token_id, "eos_token_id": self.eos_token_id}
        self.sources, self.count_back = list(self.sources), list(self.count_back)
        self.fusion = dict(self.fusion or {})
        # GPT-2's tanh gelu as one fused kernel instead of transformers' eight operations.
        gelu = {"activation_function": "gelu_pytorch_tanh"}
        self.decoder = GPT2Config(**{**gelu, **_sized(_fields(self.decoder)), **ids, **marks})
        self.encoder = BertConfig(**{**_fields(self.encoder), **ids})
        if self.share_words and self.encoder.hidden_size != self.decoder.hidden_size:
            raise UserError("model.share_words needs encoder and decoder of the same width")
        super().__post_init__(**kwargs)  # type: ignore[no-untyped-call]


def _fields(config: PreTrainedConfig | dict[str, Any] | None) -> dict[str, Any]:
    return config.to_dict() if isinstance(config, PreTrainedConfig) else dict(config or {})


def _sized(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace ``size`` by the geometry that it names."""
    size = fields.pop("size", None)
    if size is None:
        return fields
    if size not in SIZES:
        raise UserError(f"model.options.decoder.size='{size}': choose one of {', '.join(SIZES)}")
    return {**SIZES[size], **fields}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse keys that neither the model nor its parts know, naming the nearest."""
    own = {name for name in FusedConfig.__annotations__ if not name.endswith(("_id", "_configs", "_type", "_size"))}
    _known(options, own - {"sources", "fusion", "tie_word_embeddings"}, "model.options")
    _known(options.get("decoder") or {}, {*GPT2Config().to_dict(), "size"}, "model.options.decoder")
    _known(options.get("encoder") or {}, set(BertConfig().to_dict()), "model.options.encoder")


def _known(given: Mapping[str, Any], known: set[str], where: str) -> None:
    if not isinstance(given, Mapping):
        raise UserError(f"recipe key '{where}' is a section: write {where}.<name>=value")
    for key in given:
        if key not in known:
            raise UserError(f"unknown recipe key '{where}.{key}'.{nearest(key, known)}")
