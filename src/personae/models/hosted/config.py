"""Configuration of the hosted model, as saved beside its weights."""

from collections.abc import Mapping
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import CONFIG_MAPPING, AutoConfig, BertConfig, PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from personae.errors import UserError, nearest
from personae.text.tokenizer import SPECIAL_TOKENS

# What of the base is trained.
ALL, NONE, LORA = "all", "none", "lora"
# What encodes a source.
BASE, BERT = "base", "bert"

ADAPTER: Mapping[str, Any] = {"r": 8, "alpha": 16, "dropout": 0.0, "targets": None}
WEIGHTS = ("base", "base_config")


@strict
class HostedConfig(PreTrainedConfig):
    """What a ``HostedModel`` is made of.

    sources: names, in the order that the fusion sees them; fusion: ``{"name": ..., option: ...}``; base: the
    configuration of the decoder that hosts them, whole, so that a saved model needs nothing else. layers: which of
    its layers ask the sources, ``all`` or their numbers from 0; heads: of the source attentions, by default the
    base's; dropout: of the source attentions, on their weights and answers; share_attention: one cross-attention and
    layer norm per layer for all sources.

    encoder_kind: ``base``: the base itself, asking nobody, reads the sources, each token seeing earlier ones; or
    ``bert``: encoders of their own from random weights, ``encoder`` (fields of ``BertConfig``, of the base's width
    unless given), one for all sources with ``share_encoder``.

    tune: what of the base is trained, ``all``, ``none``, or ``lora``: low-rank additions to its linear layers, with
    ``lora``: r, alpha, dropout and targets, the names of those layers (None: all within the base's layers).
    """

    model_type = "personae-hosted"
    sub_configs: ClassVar[dict[str, Any]] = {"base": AutoConfig, "encoder": BertConfig}

    sources: list[str] | tuple[str, ...] = ("persona", "context")
    fusion: dict[str, Any] | None = None
    # Any: given as a dictionary, held as a configuration.
    base: Any = None
    layers: str | list[int] = "all"
    heads: int | None = None
    dropout: float | int = 0.1
    share_attention: bool = False
    encoder_kind: str = BASE
    encoder: Any = None
    share_encoder: bool = False
    tune: str = NONE
    lora: dict[str, Any] | None = None
    vocab_size: int = 50265
    bos_token_id: int | None = 50262
    eos_token_id: int | list[int] | None = 50263
    pad_token_id: int | None = 50264

    def __post_init__(self, **kwargs: Any) -> None:
        self.sources, self.fusion = list(self.sources), dict(self.fusion or {})
        if isinstance(self.base, dict):
            self.base = AutoConfig.for_model(**self.base)
        self._check()
        if self.tune == LORA:
            self.lora = check_lora({**ADAPTER, **(self.lora or {})})
        if self.encoder_kind == BERT and isinstance(self.encoder, dict | None) and self.base is not None:
            ids = {"vocab_size": self.vocab_size, "pad_token_id": self.pad_token_id}
            self.encoder = BertConfig(**{"hidden_size": self.width, **(self.encoder or {}), **ids})
        super().__post_init__(**kwargs)  # type: ignore[no-untyped-call]

    def _check(self) -> None:
        """Refuse options that contradict each other."""
        _one_of("encoder_kind", self.encoder_kind, (BASE, BERT))
        _one_of("tune", self.tune, (ALL, NONE, LORA))
        for name in ("encoder", "share_encoder"):
            if getattr(self, name) and self.encoder_kind == BASE:
                raise UserError(
                    f"model.options.{name} needs model.options.encoder_kind={BERT}: the base is one encoder"
                )
        if self.lora and self.tune != LORA:
            raise UserError(f"model.options.lora needs model.options.tune={LORA}")
        if not 0 <= self.dropout < 1:
            raise UserError(f"model.options.dropout is at least 0 and less than 1, not {self.dropout}")

    def get_text_config(self, decoder: bool | None = None, encoder: bool | None = None) -> PreTrainedConfig:
        """Where transformers asks for the decoder's, to size its cache, the base's; else this, with the true words."""
        return self.text if decoder and not encoder and self.base is not None else self

    @property
    def text(self) -> Any:
        """The base's configuration, of a base for several media that of its text."""
        return self.base.get_text_config(decoder=True)

    @property
    def width(self) -> int:
        """Of the base's states."""
        return int(self.text.hidden_size)

    @property
    def initializer_range(self) -> float:
        """Deviation of the base's random weights, and so of what is added."""
        return float(getattr(self.text, "initializer_range", None) or 0.02)

    @property
    def first_own(self) -> int:
        """The first word whose rows are not the base's.

        Words beyond its table have rows of their own. Where the base is not trained, so have those that the
        tokenizer appends, which nobody trained, even where the base's table has room for them.
        """
        known = min(int(self.text.vocab_size), self.vocab_size)
        return known if self.tune == ALL else min(known, max(0, self.vocab_size - len(SPECIAL_TOKENS)))


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse keys that neither the model nor its parts know, naming the nearest."""
    given_apart = {"model_type", "sub_configs", "sources", "fusion", "vocab_size"}
    own = {name for name in HostedConfig.__annotations__ if not name.endswith("_token_id")} - given_apart
    _known(options, {*own, *WEIGHTS}, "model.options")
    _known(options.get("encoder") or {}, set(BertConfig().to_dict()), "model.options.encoder")
    _known(options.get("lora") or {}, set(ADAPTER), "model.options.lora")
    if sum(options.get(name) is not None for name in WEIGHTS) != 1:
        raise UserError(
            "a hosted model needs a decoder: give model.options.base, a folder or hub name, or "
            "model.options.base_config, for random weights (one of them)"
        )


def read_base(options: Mapping[str, Any], words: int) -> PreTrainedConfig:
    """The configuration of the base that ``options`` name; one for random weights has ``words`` rows unless it says.

    Raises ``UserError`` where there is none, or it is no decoder that transformers knows.
    """
    where, fields = options.get("base"), options.get("base_config")
    config = _described(fields, words) if where is None else _found(str(where))
    if config.model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise UserError(f"model.options.base='{where}' is a '{config.model_type}' model: it should be a decoder")
    if getattr(config, "quantization_config", None) is not None:
        raise UserError(f"model.options.base='{where}' is quantized: give the same model with its plain weights")
    config._name_or_path = ""  # where it lay is nobody's business later
    return config


def _found(where: str) -> PreTrainedConfig:
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(where)
    except (OSError, ValueError, KeyError) as error:
        first = " ".join(str(error).split())[:200]
        raise UserError(f"model.options.base='{where}' is no model of transformers: {first}") from error
    return config


def _described(fields: Any, words: int) -> PreTrainedConfig:
    kind = str(fields.get("model_type")) if isinstance(fields, Mapping) else "?"
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        hint = nearest(kind, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
        raise UserError(f"model.options.base_config.model_type='{kind}' is no decoder of transformers.{hint}")
    usual = CONFIG_MAPPING[kind]()
    _known(fields, {*usual.to_dict(), *usual.attribute_map}, "model.options.base_config")
    # The family's special words need not lie within the recipe's; it is the recipe's own that count.
    marks = {name: None for name in ("bos_token_id", "eos_token_id", "pad_token_id") if hasattr(usual, name)}
    config: PreTrainedConfig = AutoConfig.for_model(**{"vocab_size": words, **marks, **fields})
    return config


def check_lora(given: dict[str, Any]) -> dict[str, Any]:
    """Refuse numbers that make no adapter; the names of targets are checked against the base."""
    r, alpha, dropout, targets = (given[name] for name in ADAPTER)
    if not isinstance(r, int) or r < 1:
        raise UserError(f"model.options.lora.r is a number from 1, not {r}")
    if not isinstance(alpha, int | float) or not alpha > 0:
        raise UserError(f"model.options.lora.alpha is a number above 0, not {alpha}")
    if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise UserError(f"model.options.lora.dropout is at least 0 and less than 1, not {dropout}")
    if targets is not None and (not targets or not isinstance(targets, list | tuple)):
        raise UserError("model.options.lora.targets is a list of names, as [q_proj, v_proj]; leave it out for all")
    return {**given, "targets": None if targets is None else [str(each) for each in targets]}


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"model.options.{name}='{value}'.{nearest(value, choices)} Choose one of: {', '.join(choices)}")


def _known(given: Any, known: set[str], where: str) -> None:
    if not isinstance(given, Mapping):
        raise UserError(f"recipe key '{where}' is a section: write {where}.<name>=value")
    for key in given:
        if key not in known:
            raise UserError(f"unknown recipe key '{where}.{key}'.{nearest(key, known)}")
