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
# Where the sources are asked: after self-attention or beside it.
PLACES = AFTER, BESIDE = "after", "beside"
# What encodes a source.
KINDS = BERT, GPT2, ITSELF = "bert", "gpt2", "decoder"
# What tells the right reply from others.
NO_HEAD, CHOICE, BINARY = "none", "choice", "binary"


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

    encoder_kind: ``bert``; ``gpt2`` (fields of ``GPT2Config``, by default the decoder's); or ``decoder``: the
    decoder itself, asking nobody, reads the sources. causal_encoder: such an encoder's tokens see only earlier ones.
    block: ``after`` self-attention the sources are asked, or ``beside`` it; share_self_attention: the sources are
    asked with the layer's self-attention (needs ``beside``); post_norm: layer norms after their sums, none at the
    end, as in OpenAI GPT (needs ``beside``). source_losses: weights of the nats that a GPT-2 encoder needs for a
    source's own next tokens; reply_loss: weight of the reply's.
    candidate_head: what scores a candidate reply by the state of its row's last token: ``none``; ``choice``, one
    softmax over an example's candidates (Wolf et al. 2019), after ``decoder.summary_first_dropout``; or ``binary``,
    each candidate for itself, after a token [CLS] (Huang et al. 2023, Eq. 9); candidate_loss: weight of its nats.
    """

    model_type = "personae-fused"
    sub_configs: ClassVar[dict[str, Any]] = {"decoder": GPT2Config, "encoder": PreTrainedConfig}

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
    encoder_kind: str = BERT
    causal_encoder: bool = False
    block: str = AFTER
    share_self_attention: bool = False
    post_norm: bool = False
    source_losses: dict[str, float | int] | None = None
    reply_loss: float | int = 1.0
    candidate_head: str = NO_HEAD
    candidate_loss: float | int = 1.0
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
        _one_of("encoder_kind", self.encoder_kind, KINDS)
        _one_of("block", self.block, PLACES)
        _one_of("candidate_head", self.candidate_head, (NO_HEAD, CHOICE, BINARY))
        given = {**_fields(self.encoder), **ids}
        self.encoder = BertConfig(**given) if self.encoder_kind == BERT else self._gpt2({**given, **marks})
        self.source_losses = dict(self.source_losses or {})
        self._check()
        super().__post_init__(**kwargs)  # type: ignore[no-untyped-call]

    def _gpt2(self, given: dict[str, Any]) -> GPT2Config:
        """An encoder of GPT-2's kind: the decoder's geometry where nothing else is said."""
        return GPT2Config(**{**self.decoder.to_dict(), **_sized(given)})

    def _check(self) -> None:
        """Refuse options that contradict each other."""
        if self.share_words and self.encoder.hidden_size != self.decoder.hidden_size:
            raise UserError("model.share_words needs encoder and decoder of the same width")
        for name in ("share_self_attention", "post_norm"):
            if getattr(self, name) and self.block != BESIDE:
                raise UserError(f"model.options.{name} needs model.options.block={BESIDE}")
        if self.share_self_attention and self.share_attention:
            raise UserError(
                "model.options.share_self_attention shares the attention already: leave out share_attention"
            )
        if self.block == BESIDE and not self.sources and not self.post_norm:
            raise UserError(f"model.options.block={BESIDE} needs sources to stand there: leave it out")
        for name in ("causal_encoder", "source_losses"):
            if getattr(self, name) and self.encoder_kind == BERT:
                raise UserError(f"model.options.{name} needs model.options.encoder_kind={GPT2} or {ITSELF}")
        if self.pooler and self.encoder_kind != BERT:
            raise UserError(f"model.options.pooler needs model.options.encoder_kind={BERT}")
        if self.candidate_head == NO_HEAD and self.candidate_loss != 1.0:
            raise UserError(f"model.options.candidate_loss needs model.options.candidate_head={CHOICE} or {BINARY}")
        if not self.candidate_loss > 0:
            raise UserError(f"model.options.candidate_loss={self.candidate_loss} should be above 0")
        for name in ("share_words", "share_encoder"):
            if getattr(self, name) and self.encoder_kind == ITSELF:
                raise UserError(f"model.options.encoder_kind={ITSELF} shares everything already: leave out {name}")
        for name in [*self.count_back, *(self.source_losses or {})]:
            if name not in self.sources:
                raise UserError(f"model.options names '{name}', which is no source.{nearest(name, self.sources)}")


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
    kind = str(options.get("encoder_kind", BERT))
    _one_of("encoder_kind", kind, KINDS)
    known = set(BertConfig().to_dict()) if kind == BERT else {*GPT2Config().to_dict(), "size"}
    if kind == ITSELF and options.get("encoder"):
        raise UserError(
            f"model.options.encoder_kind={ITSELF} takes the decoder's geometry: leave out model.options.encoder"
        )
    _known(options.get("encoder") or {}, known, "model.options.encoder")


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"model.options.{name}='{value}'.{nearest(value, choices)} Choose one of: {', '.join(choices)}")


def _known(given: Mapping[str, Any], known: set[str], where: str) -> None:
    if not isinstance(given, Mapping):
        raise UserError(f"recipe key '{where}' is a section: write {where}.<name>=value")
    for key in given:
        if key not in known:
            raise UserError(f"unknown recipe key '{where}.{key}'.{nearest(key, known)}")
