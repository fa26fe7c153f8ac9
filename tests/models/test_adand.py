"""AdaND's own promises: its options, its topics, what it trains in turn, its cache."""

import pytest
import torch
from transformers import PreTrainedTokenizerFast
from transformers.cache_utils import DynamicCache

from personae.errors import UserError
from personae.layers.adaptive import Parameterisation
from personae.models import AdandModel
from personae.models.adand.attention import KINDS
from personae.models.adand.cache import StateLayer
from personae.models.adand.network import to_the_left
from personae.text.pack import Packed
from personae.text.tokenizer import train_tokenizer
from tests.helpers import ADAND, CLOSE, IDS, NO_TOPICS, PAD, SOURCES, TINY, batch_of, only, tiny_model, with_labels


def create(fusion=None, sources=SOURCES, **options):
    fusion = {"name": "sum"} if fusion is None else fusion
    given = {key: value for key, value in {**TINY["adand"], **options}.items() if value is not None}
    return AdandModel.create(sources, fusion, IDS, given)


def complaint(**given):
    with pytest.raises(UserError) as caught:
        create(**given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"parametrisation": "both"}, "'model.options.parametrisation'. Did you mean 'parameterisation'?"),
        ({"parameterisation": "contxt"}, "unknown parameterisation 'contxt'. Did you mean 'context'?"),
        ({"context_cell": "topic"}, "model.options.context_cell='topic'. Choose one of: hyper, layer-norm, plain"),
        ({"attention": "genral"}, "Did you mean 'general'?"),
        ({"topic_model": "lda"}, "Choose one of: experts-published, mixture"),
        ({"padding": "skip"}, "Did you mean 'skipped'?"),
        ({"factors": 3}, "model.options.factors does nothing with model.options.parameterisation=both"),
        ({**ADAND["fixed"], "xi": 3}, "model.options.xi does nothing with model.options.parameterisation=plain"),
        ({**ADAND["fixed"], "context_cell": "plain"}, "context_cell does nothing"),
        ({**ADAND["context"], "diversity": 0.1, "topics": 3}, "leave out topics, diversity"),
        ({**ADAND["fixed"], "training": "alternating"}, "model.options.training does nothing"),
        ({"kl_width": 3}, "kl_width does nothing without kl_middle"),
        ({"topics": 1}, "2 topics or more"),
        ({"topics": "five"}, "topics"),
        ({"topic_words": 0}, "topic_words is at least 1"),
        ({"bag_hidden": [0]}, "bag_hidden holds widths of at least 1"),
        ({"topic_most": 0}, "topic_most is a share above 0"),
        ({"diversity": -1}, "diversity 0 or more"),
        ({"hidden_size": 0}, "hidden_size is at least 1"),
        ({"dropout": 1}, "dropout is at least 0 and less than 1"),
        ({"vocab_size": 9}, "unknown recipe key 'model.options.vocab_size'"),
        ({"sources": []}, "at least one source"),
        ({"fusion": {}}, "model.fusion.name"),
    ],
)
def test_bad_options_are_the_users_error(options, expected):
    assert expected in complaint(**options)


def test_there_are_no_weights_to_start_from():
    with pytest.raises(UserError, match=r"leave model\.weights out"):
        create().load_decoder("gpt2")


def test_types_are_not_passed_over_in_silence():
    batch = batch_of()
    with pytest.raises(UserError, match=r"text\.types=none"):
        create()(**batch, token_type_ids=batch["input_ids"])


def names(model):
    return {name.split(".")[0] for name, _ in model.named_parameters()}


def test_a_model_has_only_what_its_parameterisation_reads():
    assert names(create()) >= {"context", "inferrer"}
    assert names(create(**ADAND["fixed"])) == {"encoders", "decoder", "narrow", "words"}
    assert "inferrer" not in names(create(**ADAND["context"]))
    assert "context" not in names(create(**ADAND["topic"]))
    assert "inferrer" in names(create(**{**ADAND["fixed"], "infer_topics": "always", "topic_words": 14}))
    assert "narrow" not in names(create(word_size=12))


@pytest.mark.parametrize("kind", Parameterisation.names())
def test_every_parameterisation_reads_and_speaks(kind):
    reads, uses = Parameterisation.get(kind).reads, Parameterisation.get(kind).uses
    topics = {} if "theta" in reads else NO_TOPICS
    sizes = {name: 3 if name in uses else None for name in ("xi", "factors", "squeeze")}
    torch.manual_seed(0)
    model = create(parameterisation=kind, **topics, **sizes)
    output = model(**with_labels(batch_of()))
    assert output.loss.isfinite()
    assert model.eval().generate(**batch_of(side="left"), max_new_tokens=3, do_sample=False).shape[0] == 3


def test_padding_is_never_said():
    logits = create().eval()(**batch_of()).logits
    assert (logits[..., PAD] < -1e19).all()


@pytest.mark.parametrize("kind", KINDS)
def test_attention_is_a_softmax_over_the_source(kind):
    model = tiny_model("adand", "sum", "plain", sources=["context"])
    model.config.attention = kind
    torch.manual_seed(0)
    attention, batch = KINDS[kind](24, 12), batch_of(sources=["context"], lengths=(2, 2, 2))
    source = model.encode(batch["sources"])["context"]
    query = torch.randn(3, 2, 12)
    for row in range(3):
        states = source.states[row][source.mask[row]]
        for at in range(2):
            one = query[row, at]
            if kind == "general":
                scores = states @ (attention.ask.weight @ one)
            elif kind == "dot":
                scores = states @ torch.cat([one, one])
            else:
                both = states @ attention.key.weight.T + attention.ask.weight @ one
                scores = both.tanh() @ attention.vector.weight[0]
            expected = attention.combine.weight @ (scores.softmax(-1) @ states)
            torch.testing.assert_close(attention(query, source)[row, at], expected, **CLOSE)


def test_the_reply_trains_the_prior_unless_losses_alternate():
    batch = with_labels(batch_of())
    for training, trained in (("joint", True), ("alternating", False)):
        model = create(training=training).eval()
        model(**batch, objective="reply").loss.backward()
        assert (model.inferrer.prior.mean.weight.grad is not None) == trained
        assert model.inferrer.posterior.mean.weight.grad is None


def test_the_topics_alone_train_the_inferrer_alone():
    model = create(training="alternating")
    assert model.objectives == ("reply", "topics")
    model(**with_labels(batch_of()), objective="topics").loss.backward()
    trained = {name.split(".")[0] for name, one in model.named_parameters() if one.grad is not None}
    assert trained == {"inferrer"}
    assert create().objectives == ()


def test_terms_are_nats_per_token_of_the_reply():
    model, batch = create(diversity=0.5).eval(), with_labels(batch_of())
    output, tokens = model(**batch), (batch["labels"] != -100).sum()
    sources = batch["sources"].values()
    counts = [model.bag(each["input_ids"], each["attention_mask"].bool()) for each in sources]
    reply = model.bag(batch["labels"], batch["labels"] != -100)
    losses = [model.inferrer.losses(each, each + reply) for each in counts]
    assert output.terms["topic_words"].item() == pytest.approx(
        sum(each.words.sum().item() for each in losses) / 2 / tokens.item(), rel=1e-5
    )
    assert output.terms["topic_kl"].item() == pytest.approx(
        sum(each.kl.sum().item() for each in losses) / 2 / tokens.item(), rel=1e-5
    )
    expected = 0.5 * model.inferrer.model.diversity().item()
    assert output.terms["topic_diversity"].item() == pytest.approx(expected, rel=1e-5)


def test_the_kl_comes_in_with_the_steps():
    model, batch = create(kl_middle=10, kl_width=4).eval(), with_labels(batch_of())
    found = []
    for step in (0, 10, 100):
        model.begin_step(step)
        found.append(model(**batch).terms["topic_kl"].item())
    assert 0 < found[0] < 0.02 * found[2]
    assert found[1] == pytest.approx(found[2] / 2)


def test_topics_are_drawn_at_evaluation_only_as_released():
    batch = batch_of(side="left")
    steady, drawn = create().eval(), create(sample_topics=True).eval()
    assert torch.equal(steady(**batch).logits, steady(**batch).logits)
    assert not torch.equal(drawn(**batch).logits, drawn(**batch).logits)


def test_a_context_without_topic_words_has_topics_too():
    model, batch = create().eval(), batch_of()
    model.bag.choose([])
    output = model(**with_labels(batch))
    assert output.loss.isfinite()
    assert output.terms["topic_words"] == 0


def test_replies_without_a_token_leave_numbers():
    model, batch = create().eval(), batch_of()
    labels = torch.full_like(batch["input_ids"], -100)
    output = model(**batch, labels=labels)
    assert output.loss.isfinite()
    assert output.terms["nll"] == 0


def tokenizer(*texts: str) -> PreTrainedTokenizerFast:
    return train_tokenizer(texts, 300)


def packed(words: PreTrainedTokenizerFast, *texts: str) -> list[Packed]:
    rows = [words.encode(f" {text}") for text in texts]
    return [Packed({"context": row}, {}, [], [int(words.eos_token_id)]) for row in rows]


def test_the_topic_vocabulary_comes_from_the_training_examples():
    texts = ["the owl the cat", "the owl naps", "the dog naps ."] * 20
    words = tokenizer(*texts)
    model = create(sources=["context"], topic_most=0.7, vocab_size=None)
    model = AdandModel(type(model.config)(**{**model.config.to_dict(), "vocab_size": len(words)}))
    model.read_corpus(words, packed(words, *texts))
    chosen = {words.decode([at]).strip() for at, topic in enumerate(model.bag.topic_of.tolist()) if topic < 14}
    assert chosen == {"owl", "cat", "naps", "dog"}
    with pytest.raises(UserError, match=r"topic vocabulary is empty.*model\.options\.topic_most"):
        model.read_corpus(words, packed(words, "the", "the"))


def test_the_topic_vocabulary_is_saved_with_the_weights(tmp_path):
    model = create()
    model.bag.choose([3, 7])
    model.save_pretrained(tmp_path)
    assert torch.equal(AdandModel.from_pretrained(tmp_path).bag.topic_of, model.bag.topic_of)


def test_rows_go_to_the_left_in_order():
    ids, mask = torch.tensor([[0, 5, 0, 6], [1, 2, 3, 4]]), torch.tensor([[0, 1, 0, 1], [1, 1, 1, 1]]).bool()
    found, real = to_the_left(ids, mask)
    assert found[0, :2].tolist() == [5, 6]
    assert real.tolist() == [[True, True, False, False], [True] * 4]
    assert found[1].tolist() == [1, 2, 3, 4]


def test_reading_padding_makes_a_reply_depend_on_its_batch():
    """What the released code does, on whichever side the padding comes."""
    for padding in ("skipped", "read"):
        torch.manual_seed(0)
        model = create(padding=padding).eval()
        found = [
            model(**batch_of(extra=extra, source_side=side)).logits[0, 8] for extra, side in ((0, "left"), (3, "right"))
        ]
        assert torch.allclose(*found, atol=1e-5) == (padding == "skipped")
        left = model(**batch_of(extra=3, source_side="left")).logits[0, 8]
        torch.testing.assert_close(left, found[1], **CLOSE)


def test_the_cache_is_one_layer_of_states():
    model, batch, cache = tiny_model("adand", "sum"), batch_of(side="left"), DynamicCache()
    model(**batch, past_key_values=cache)
    (layer,) = cache.layers
    assert isinstance(layer, StateLayer)
    assert layer.keys.shape == (3, 2 * (12 + 12 + 4 + 4))
    assert cache.get_seq_length() == 9


def test_several_sources_have_zetas_and_thetas_of_their_own():
    model, batch = create().eval(), batch_of()
    whole = model.encode(batch["sources"])
    alone = model.encode({"context": batch["sources"]["context"]})
    torch.testing.assert_close(whole["context"].states, alone["context"].states)
    assert not torch.allclose(whole["context"].given.theta, whole["persona"].given.theta)
    assert not torch.allclose(whole["context"].given.zeta, whole["persona"].given.zeta)


def test_a_single_row_is_enough():
    model = create().eval()
    assert model(**only(batch_of(), 1)).logits.shape == (1, 6, 40)
