"""AdaND. Shapes: B batch, T prompt and reply, S source, H hidden, V vocabulary, K topics, N topic words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.adaptive import Given, Parameterisation, flat, summed, unflat
from personae.layers.blocks import ReplySoFar, looks
from personae.layers.memory import Memory
from personae.layers.packed import can_pack, pack_linears
from personae.layers.topics import BagOfWords, TopicInferrer, TopicLosses, annealed, topic_words
from personae.models.adand.cache import states_of
from personae.models.adand.config import JOINT, READ, STALE, AdandConfig, check_options
from personae.models.adand.network import Decoder, Heard, Reader, to_the_left
from personae.models.base import DialogueModel, LoadReport, Output, SourceBatch, refuse_types, refused
from personae.text.collate import IGNORED
from personae.text.pack import Packed

SHARED = "shared"
REPLY, TOPICS = "reply", "topics"
# The logit of padding, which is never said.
NEVER = -1e20


@DialogueModel.register("adand")
class AdandModel(DialogueModel):
    """LSTM encoder-decoder whose weights adapt to the context and its topics (Cai et al. 2019, AdaND).

    A context encoder says zeta, a topic inferrer theta; encoder and decoder take their weights from them by
    ``parameterisation``. The paper has one source; with several, each is read with its own zeta and theta, and the
    decoder starts from, and adapts to, their means. Words are what the recipe's tokenizer makes of them; they start at
    random, not from GloVe.
    """

    config: AdandConfig
    config_class = AdandConfig
    base_model_prefix = ""
    _no_split_modules = ["Reader"]  # noqa: RUF012  (transformers declares it as an instance attribute)

    def __init__(self, config: AdandConfig) -> None:
        super().__init__(config)
        names = [SHARED] if config.share_encoder else list(config.sources)
        self.encoders = nn.ModuleDict(
            {name: Reader(config, config.parameterisation, config.bidirectional) for name in names}
        )
        context = "zeta" in config.reads
        self.context = Reader(config, config.context_cell, config.bidirectional) if context else None
        self.bag = build_bag(config) if config.has_topics else None
        self.inferrer = build_inferrer(config) if config.has_topics else None
        self.decoder = Decoder(config)
        same = config.hidden_size == config.word_size
        self.narrow = nn.Identity() if same else nn.Linear(config.hidden_size, config.word_size)
        self.dropout = nn.Dropout(config.dropout)
        self.words = nn.Linear(config.word_size, config.vocab_size)
        self.step = 0
        self.post_init()  # type: ignore[no-untyped-call]

    @classmethod
    def create(
        cls,
        sources: Sequence[str],
        fusion: Mapping[str, Any],
        ids: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Self:
        """See ``DialogueModel.create``; ``options`` are fields of ``AdandConfig``."""
        check_options(options)
        with refused():
            return cls(AdandConfig(sources=list(sources), fusion=dict(fusion), **ids, **options))

    def load_decoder(self, folder: str) -> LoadReport:
        """Not possible: there is no checkpoint that a decoder of this kind could start from."""
        raise UserError(f"model.weights='{folder}': AdaND starts at random; leave model.weights out")

    @property
    def window(self) -> dict[str, int]:
        """``max_positions`` everywhere; the network itself has no limit."""
        return dict.fromkeys([*self.config.sources, "decoder"], self.config.max_positions)

    @property
    def objectives(self) -> tuple[str, ...]:
        """See ``DialogueModel``: as released, the reply's loss and the topics' in turn, unless training is joint."""
        return () if self.config.training == JOINT else (REPLY, TOPICS)

    @property
    def keeps_moving(self) -> bool:
        """See ``DialogueModel``."""
        return self.config.training == STALE

    def begin_step(self, step: int) -> None:
        """See ``DialogueModel``: the KL's weight follows the step."""
        self.step = step

    def read_corpus(self, tokenizer: PreTrainedTokenizerFast, examples: Sequence[Packed]) -> None:
        """See ``DialogueModel``: the topic vocabulary comes from the training examples."""
        if self.bag is None:
            return
        rows = ([*(token for row in each.sources.values() for token in row), *each.reply] for each in examples)
        spelt = [str(token) for token in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
        self.bag.choose(topic_words(rows, spelt, self.config.topic_words, self.config.topic_most))

    def pack(self) -> Self:
        """See ``DialogueModel.pack``; recurrent weights are bf16, linear layers are packed."""
        self.bfloat16()
        if self.device.type == "cpu" and can_pack():
            pack_linears(self)
        return self

    def get_input_embeddings(self) -> nn.Module:
        """The decoder's word table; every encoder has its own."""
        return self.decoder.reader.words

    def encode_source(self, name: str, batch: Mapping[str, Tensor]) -> Heard:
        """Encode one source from its ids and mask (B, S), its weights adapted to itself."""
        refuse_types(batch)
        ids, mask, seen = self.read(batch)
        counts = None if self.bag is None else self.bag(ids, mask)
        given = Given(self.zeta(ids, seen), self.theta(counts))
        outputs, last = self.encoders[SHARED if self.config.share_encoder else name](ids, seen, given)
        return Heard(outputs, mask, final=summed(last), given=given, counts=counts)

    def read(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor | None]:
        """Ids and mask (B, S), and the mask that recurrent layers heed: none where they read padding."""
        ids, mask = batch["input_ids"], batch["attention_mask"].bool()
        return (*to_the_left(ids, mask), None) if self.config.padding == READ else (ids, mask, mask)

    def zeta(self, ids: Tensor, mask: Tensor | None) -> Tensor | None:
        """(B, H) the context encoder's last h, directions added up; None where nothing reads it."""
        return None if self.context is None else summed(self.context(ids, mask, Given())[1])[-1][0][0]

    def theta(self, counts: Tensor | None) -> Tensor | None:
        """(B, K) shares of topics; None where nothing reads them. In alternation the reply does not train them."""
        if self.inferrer is None or "theta" not in self.config.reads:
            return None
        theta: Tensor = self.inferrer(counts)
        return theta if self.config.training == JOINT else theta.detach()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        memory: Memory | None = None,
        sources: SourceBatch | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        objective: str | None = None,
        **kwargs: Any,
    ) -> Output:
        """Read prompt and reply (B, T); see ``FusedModel.forward``.

        The terms are ``nll`` and, with a topic inferrer, ``topic_words``, ``topic_kl`` and ``topic_diversity``, each
        times its weight. ``objective``: of a model that alternates, the one to minimise now.
        """
        refuse_types(kwargs)
        if objective == TOPICS:
            return self.topic_output(sources or {}, cast(Tensor, labels))
        memory = self.encode(sources or {}) if memory is None else memory
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        hidden = self.decode(input_ids, attention_mask, past_key_values, memory)
        if labels is not None:
            return self.loss_of(hidden, labels, num_items_in_batch, None if objective == REPLY else memory)
        logits = self.head(hidden[:, slice(-logits_to_keep or None, None)])
        return Output(logits=logits, past_key_values=past_key_values)

    def decode(self, ids: Tensor, mask: Tensor | None, cache: Cache | None, memory: Memory) -> Tensor:
        """States (B, T, H)."""
        held = None if cache is None else states_of(cache)
        seen = 0 if held is None else held.seen
        mask = ids.new_ones(len(ids), seen + ids.shape[1]) if mask is None else mask
        layers = self.decoder.reader.layers
        before = None if held is None or held.keys is None else unflat(held.keys, layers)
        past = ReplySoFar(looks(mask, ids.shape[1]), cache, offset=1)
        heard = [cast(Heard, memory[name]) for name in self.config.sources]
        hidden, last = self.decoder(ids, mask[:, -ids.shape[1] :].bool(), heard, before, past)
        if held is not None:
            held.update(flat(last), ids)
        return cast(Tensor, hidden)

    def head(self, hidden: Tensor) -> Tensor:
        """(..., H) to (..., V) logits."""
        logits: Tensor = self.words(self.dropout(self.narrow(hidden)))
        padding = torch.arange(logits.shape[-1], device=logits.device).eq(cast(int, self.config.pad_token_id))
        return logits.masked_fill(padding, NEVER)

    def loss_of(self, hidden: Tensor, labels: Tensor, items: Tensor | int | None, memory: Memory | None) -> Output:
        """Loss, logits of the labelled rows and terms; those of the topics where ``memory`` is given."""
        loss, logits, nll = self.label_loss(hidden, self.head, labels, items)
        terms = {"nll": loss}
        if self.inferrer is not None and memory is not None:
            tokens = (labels[:, 1:] != IGNORED).sum()
            divisor = tokens.clamp_min(1) if items is None else items
            counted = [cast(Tensor, cast(Heard, memory[name]).counts) for name in self.config.sources]
            terms |= self.topic_terms(self.topic_losses(counted, labels), 1 / divisor, tokens / divisor)
        loss = torch.stack(list(terms.values())).sum()
        return Output(loss=loss, logits=logits, nll=nll, terms={name: value.detach() for name, value in terms.items()})

    def topic_output(self, sources: SourceBatch, labels: Tensor) -> Output:
        """The topics' loss alone, as released: means over examples, with the diversity added."""
        assert self.bag is not None
        read = [self.read(batch) for batch in sources.values()]
        losses = self.topic_losses([self.bag(ids, mask) for ids, mask, _ in read], labels)
        terms = self.topic_terms(losses, 1 / len(labels), 1)
        loss = torch.stack(list(terms.values())).sum()
        return Output(loss=loss, terms={name: value.detach() for name, value in terms.items()})

    def topic_losses(self, counted: Sequence[Tensor], labels: Tensor) -> TopicLosses:
        """(B,) each, means over sources, from the bag (B, N) of each and of it with the reply in labels (B, T)."""
        assert self.bag is not None
        assert self.inferrer is not None
        reply = self.bag(labels, labels != IGNORED)
        found = [self.inferrer.losses(counts, counts + reply) for counts in counted]
        words, kl = (torch.stack([getattr(each, name) for each in found]).mean(0) for name in ("words", "kl"))
        return TopicLosses(words, kl)

    def topic_terms(self, losses: TopicLosses, each: Tensor | float, whole: Tensor | float) -> dict[str, Tensor]:
        """The terms: sums over examples times ``each``, and what has no examples times ``whole``."""
        assert self.inferrer is not None
        weight = annealed(self.step, self.config.kl_middle, self.config.kl_width)
        terms = {"topic_words": losses.words.sum() * each, "topic_kl": weight * losses.kl.sum() * each}
        if self.config.diversity:
            terms["topic_diversity"] = self.config.diversity * self.inferrer.model.diversity() * whole
        return terms

    def _initialize_weights(self, module: nn.Module, is_custom_code: bool = False) -> None:
        """transformers passes over a module of custom code without parameters of its own; ours count too."""
        super()._initialize_weights(module)

    def _init_weights(self, module: nn.Module) -> None:
        """Word vectors N(0, 1), linear layers as PyTorch starts them, the others as they say themselves."""
        super()._init_weights(module)  # type: ignore[no-untyped-call]
        if isinstance(module, nn.Linear):
            init.kaiming_uniform_(module.weight, a=math.sqrt(5))
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight)
        elif isinstance(module, Fusion | Parameterisation | TopicInferrer):
            module.initialise()


def build_bag(config: AdandConfig) -> BagOfWords:
    """What counts topic words."""
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    special = [token for token in (config.bos_token_id, config.pad_token_id, *ends) if token is not None]
    return BagOfWords(config.vocab_size, config.topic_words, special)


def build_inferrer(config: AdandConfig) -> TopicInferrer:
    """What infers topics from the counts."""
    return TopicInferrer(
        config.topic_model,
        config.topic_words,
        config.topics,
        config.latent,
        config.word_size,
        config.bag_hidden,
        config.dropout,
        config.sample_topics,
    )
