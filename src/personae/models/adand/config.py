"""Configuration of the AdaND model, as saved beside its weights."""

from collections.abc import Mapping, Sequence
from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from personae.errors import UserError, nearest
from personae.layers.adaptive import Parameterisation
from personae.layers.topics import TopicModel

ATTENTIONS = GENERAL, DOT, CONCAT = "general", "dot", "concat"
# What recurrent layers do at padding: pass over it, or read it as the released code does.
PADDINGS = SKIPPED, READ = "skipped", "read"
# When there is a topic inferrer: where something reads its topics, or as released always.
INFERRERS = NEEDED, ALWAYS = "needed", "always"
# One loss, or two optimiser steps a batch as released; with its PyTorch, either step also moved what the other trains.
TRAININGS = JOINT, ALTERNATING, STALE = "joint", "alternating", "alternating-torch12"


@strict
class AdandConfig(PreTrainedConfig):
    """What an ``AdandModel`` is made of; the defaults are the poster's model at its size (Cai et al. 2019).

    sources: names, in the order that the fusion sees them; fusion: ``{"name": ..., option: ...}``, which combines what
    attention takes from each source; share_encoder: one encoder for all sources.
    parameterisation: where the weights of encoder and decoder come from; context_cell: that of the encoder that says
    zeta; hidden_size: H, of one direction; word_size: of word vectors; num_hidden_layers: of encoder, context encoder
    and decoder alike; bidirectional: both encoders; attention: ``general``, ``dot`` or ``concat`` (Luong et al. 2015);
    dropout: on words, between layers, on candidates of cells, before the head and inside the topic inferrer;
    padding: ``skipped``, or ``read`` as released, by which a reply depends on its batch; max_positions: the most tokens
    of a source, and of prompt and reply.
    xi, factors, squeeze: see ``Sizes``.
    infer_topics: ``needed`` or ``always``; topics: K; topic_model: see ``TopicModel``; topic_words: size of the topic
    vocabulary; topic_most: words in more than this share of the training examples are stop words; latent: width of z;
    bag_hidden: widths inside prior and posterior; sample_topics: z is drawn at evaluation too, as released.
    training: ``joint``, one loss, in which the reply trains the prior too; ``alternating``, as released: a step for the
    reply with theta as it is, then one for the topics; ``alternating-torch12``, the same with the PyTorch of the
    release, where either step moves all parameters by their momentum. kl_middle, kl_width: the KL's weight is
    (tanh((step - kl_middle) / kl_width) + 1) / 2 at optimiser step ``step``, or 1 where kl_middle is 0; diversity:
    weight of the diversity of topics, which the poster does not have.
    """

    model_type = "personae-adand"

    sources: list[str] | tuple[str, ...] = ("context",)
    fusion: dict[str, Any] | None = None
    share_encoder: bool = False
    parameterisation: str = "both"
    context_cell: str = "plain"
    hidden_size: int = 300
    word_size: int = 300
    num_hidden_layers: int = 2
    bidirectional: bool = True
    attention: str = GENERAL
    dropout: float | int = 0.1
    padding: str = SKIPPED
    max_positions: int = 512
    xi: int = 128
    factors: int = 128
    squeeze: int = 32
    infer_topics: str = NEEDED
    topics: int = 5
    topic_model: str = "mixture"
    topic_words: int = 5000
    topic_most: float | int = 0.1
    latent: int = 64
    bag_hidden: list[int] | tuple[int, ...] = (512, 128, 64)
    sample_topics: bool = False
    training: str = JOINT
    kl_middle: float | int = 0
    kl_width: float | int = 500
    diversity: float | int = 0
    vocab_size: int = 50265
    bos_token_id: int | None = 50262
    eos_token_id: int | list[int] | None = 50263
    pad_token_id: int | None = 50264

    def __post_init__(self, **kwargs: Any) -> None:
        self.sources, self.fusion = list(self.sources), dict(self.fusion or {})
        self.bag_hidden = list(self.bag_hidden)
        if not self.sources:
            raise UserError("model.sources is empty: AdaND answers from at least one source")
        self._check_choices()
        self._check_numbers()
        super().__post_init__(**kwargs)  # type: ignore[no-untyped-call]

    @property
    def reads(self) -> frozenset[str]:
        """What encoder and decoder adapt to."""
        return Parameterisation.get(self.parameterisation).reads

    @property
    def has_topics(self) -> bool:
        """Whether there is a topic inferrer."""
        return "theta" in self.reads or self.infer_topics == ALWAYS

    def _check_choices(self) -> None:
        choices = {
            "parameterisation": Parameterisation.names(),
            "context_cell": [name for name in Parameterisation.names() if not Parameterisation.get(name).reads],
            "attention": ATTENTIONS,
            "padding": PADDINGS,
            "infer_topics": INFERRERS,
            "topic_model": TopicModel.names(),
            "training": TRAININGS,
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                raise UserError(
                    f"model.options.{name}='{value}'.{nearest(value, known)} Choose one of: {', '.join(known)}"
                )
        if self.training != JOINT and not self.has_topics:
            raise UserError(
                f"model.options.training={self.training} needs topics: leave it out, or infer_topics=always"
            )

    def _check_numbers(self) -> None:
        """Refuse sizes that make no network."""
        sizes = ("hidden_size", "word_size", "num_hidden_layers", "max_positions", "xi", "factors", "squeeze")
        for name in (*sizes, "topic_words", "latent"):
            if getattr(self, name) < 1:
                raise UserError(f"model.options.{name} is at least 1, not {getattr(self, name)}")
        if any(width < 1 for width in self.bag_hidden):
            raise UserError(f"model.options.bag_hidden holds widths of at least 1, not {self.bag_hidden}")
        if not 0 <= self.dropout < 1:
            raise UserError(f"model.options.dropout is at least 0 and less than 1, not {self.dropout}")
        if not 0 < self.topic_most <= 1:
            raise UserError(f"model.options.topic_most is a share above 0, at most 1, not {self.topic_most}")
        if not self.kl_width > 0 or self.kl_middle < 0 or self.diversity < 0:
            raise UserError("model.options: kl_width should be above 0, kl_middle and diversity 0 or more")


OF_TOPICS = (
    *("topics", "topic_model", "topic_words", "topic_most", "latent", "bag_hidden", "sample_topics"),
    *("training", "kl_middle", "kl_width", "diversity"),
)


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse keys that are no option of the model, naming the nearest, and those that would do nothing."""
    given_apart = {"model_type", "sources", "fusion", "vocab_size", "bos_token_id", "eos_token_id", "pad_token_id"}
    known = AdandConfig.__annotations__.keys() - given_apart
    for key in options:
        if key not in known:
            raise UserError(f"unknown recipe key 'model.options.{key}'.{nearest(key, known)}")
    name = str(options.get("parameterisation", AdandConfig.parameterisation))
    kind = Parameterisation.get(name)
    idle = [key for key in ("xi", "factors", "squeeze") if key not in kind.uses]
    idle += [] if "zeta" in kind.reads else ["context_cell"]
    idle += [] if "theta" in kind.reads or options.get("infer_topics") == ALWAYS else OF_TOPICS
    _refuse(name, [key for key in idle if key in options])
    if options.get("kl_width") is not None and not options.get("kl_middle"):
        raise UserError("model.options.kl_width does nothing without kl_middle: set that too, or leave it out")


def _refuse(name: str, idle: Sequence[str]) -> None:
    if idle:
        raise UserError(
            f"model.options.{idle[0]} does nothing with model.options.parameterisation={name}: leave out "
            f"{', '.join(idle)}"
        )
