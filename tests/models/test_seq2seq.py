"""The seq2seq model's own promises: its size, its options, its pointer, its cache."""

import pytest
import torch
from transformers.cache_utils import DynamicCache

from personae.errors import UserError
from personae.models import Seq2seqConfig, Seq2seqModel
from personae.models.seq2seq.layers import REACH, Norm, sinusoids
from tests.helpers import CLOSE, IDS, PAD, SOURCES, TINY, batch_of, only, tiny_model, with_labels


def create(fusion=None, sources=SOURCES, **options):
    fusion = {"name": "sum"} if fusion is None else fusion
    return Seq2seqModel.create(sources, fusion, IDS, {**TINY["seq2seq"], **options})


@pytest.mark.parametrize(
    ("options", "beside_words"),
    [
        ({}, 2_147_400),
        ({"pointer": True}, 2_147_400 + 301),
        ({"sources": SOURCES, "share_encoder": True}, 2_147_400 + 6 * 48_600),
        ({"sources": SOURCES}, 2_147_400 + 6 * 48_600 + 927_900),
    ],
)
def test_the_number_of_parameters_at_the_published_size(options, beside_words):
    """In thousands: an attention 48, convolutions 90.35, a norm 0.6, in 6 + 6 layers; 90.6 each stack beside them."""
    config = Seq2seqConfig(vocab_size=20_000, fusion={"name": "sum"}, **options)
    with torch.device("meta"):
        model = Seq2seqModel(config)
    assert sum(one.numel() for one in model.parameters()) == beside_words + 20_000 * 301


def complaint(**given):
    with pytest.raises(UserError) as caught:
        create(**given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"depht": 8}, "'model.options.depht'. Did you mean 'depth'?"),
        ({"depth": 7}, "multiple of num_attention_heads"),
        ({"depth": "deep"}, "depth"),
        ({"hidden_size": 9}, "hidden_size is even"),
        ({"filter_size": 0}, "filter_size is at least 1"),
        ({"dropout": 1}, "dropout is at least 0 and less than 1"),
        ({"label_smoothing": -0.1}, "label_smoothing is at least 0"),
        ({"pointer": "often"}, "pointer"),
        ({"vocab_size": 9}, "unknown recipe key 'model.options.vocab_size'"),
        ({"sources": []}, "at least one source"),
        ({"fusion": {}}, "model.fusion.name"),
        ({"fusion": {"name": "smu"}}, "Did you mean 'sum'?"),
        ({"fusion": {"name": "condition"}, "pointer": True}, "uses no attention"),
    ],
)
def test_bad_options_are_the_users_error(options, expected):
    assert expected in complaint(**options)


def test_there_are_no_weights_to_start_from():
    with pytest.raises(UserError, match=r"leave model\.weights out"):
        create().load_decoder("gpt2")


@pytest.mark.parametrize("where", ["reply", "context"])
def test_types_are_not_passed_over_in_silence(where):
    batch = batch_of()
    part = batch if where == "reply" else batch["sources"][where]
    part["token_type_ids"] = torch.zeros_like(part["input_ids"])
    with pytest.raises(UserError, match=r"text\.types=none"):
        create()(**batch)


def test_the_window_is_an_option():
    assert create(max_positions=64).window == {"persona": 64, "context": 64, "decoder": 64}


def test_one_source_is_enough():
    model = create(sources=["context"]).eval()
    assert model(**batch_of(sources=["context"])).logits.shape == (3, 9, 40)


def test_encoders_are_apart_or_one():
    assert list(create().encoders) == list(SOURCES)
    model = create(share_encoder=True)
    assert list(model.encoders) == ["shared"]
    batch = batch_of()["sources"]["context"]
    states = [model.eval().encode_source(name, batch).states for name in SOURCES]
    assert torch.equal(*states)


def test_positions_are_sines_then_cosines():
    found = sinusoids(torch.tensor([[0, 3]]), 4)[0]
    torch.testing.assert_close(found[0], torch.tensor([0.0, 0.0, 1.0, 1.0]))
    rates = torch.tensor([1.0, 1e-4])
    torch.testing.assert_close(found[1], torch.cat([(3 * rates).sin(), (3 * rates).cos()]))


def test_the_norm_adds_epsilon_to_the_unbiased_deviation():
    states = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    expected = torch.tensor([[-1.0, 1.0], [0.0, 0.0]]) / (2**0.5 + 0.5)
    torch.testing.assert_close(Norm(2, epsilon=0.5)(states), expected)


def test_the_cache_keeps_no_more_than_the_convolutions_reach():
    model, batch, cache = tiny_model("seq2seq"), batch_of(side="left"), DynamicCache()
    model(**batch, past_key_values=cache)
    layers = model.config.num_hidden_layers
    assert len(cache.layers) >= 2 * layers
    assert {layer.keys.shape[-2] for layer in cache.layers[:layers]} == {9}
    assert {layer.keys.shape[-2] for layer in cache.layers[layers : 2 * layers]} == {REACH}


def test_a_position_hears_its_near_past_by_convolution_alone():
    """Without attention the last token still matters up to the convolutions' reach in every layer, and no further."""
    model = tiny_model("seq2seq")
    for block in model.decoder.blocks:
        torch.nn.init.zeros_(block.attn.c_proj.weight)
    changed = batch_of(lengths=(12, 12, 12))
    plain = model(**changed).logits
    changed["input_ids"][:, 0] += 1
    moved = (model(**changed).logits - plain).abs().amax((0, 2)) > 1e-5
    assert moved[:3].all()
    assert not moved[1 + 2 * REACH :].any()


def mixture(model, batch):
    with torch.no_grad():
        return model(**batch).logits.exp()


def test_a_pointer_gives_probabilities():
    found = mixture(tiny_model("seq2seq", "sum", "pointer"), batch_of())
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 9), **CLOSE)


def test_a_pointer_that_only_copies_says_what_the_sources_say():
    model, batch = tiny_model("seq2seq", "sum", "pointer"), batch_of(extra=2)
    torch.nn.init.zeros_(model.pointer.gate.weight)
    torch.nn.init.constant_(model.pointer.gate.bias, -50.0)
    found = mixture(model, batch)
    for row in range(3):
        sources = only(batch, row)["sources"].values()
        said = torch.cat([source["input_ids"][0] for source in sources]).unique()
        assert (found[row, :, said] > 1e-9).all()
        torch.testing.assert_close(found[row, :, said].sum(-1), torch.ones(11), **CLOSE)


def test_a_pointer_that_never_copies_is_the_model_without():
    model, batch = tiny_model("seq2seq", "sum", "pointer"), batch_of()
    torch.nn.init.zeros_(model.pointer.gate.weight)
    torch.nn.init.constant_(model.pointer.gate.bias, 50.0)
    found = mixture(model, batch)
    model.pointer = None
    torch.testing.assert_close(found, model(**batch).logits.softmax(-1), **CLOSE)


@pytest.mark.parametrize("variant", ["plain", "pointer"])
def test_label_smoothing_is_the_divergence_from_the_smoothed_label(variant):
    model, batch = tiny_model("seq2seq", "sum", variant), with_labels(batch_of())
    plain = model(**batch)
    model.config.label_smoothing = 0.1
    found = model(**batch)
    targets = batch["labels"][:, 1:][batch["labels"][:, 1:] != -100]
    wanted = torch.full((len(targets), 40), 0.1 / 38)
    wanted[:, PAD] = 0
    wanted[torch.arange(len(targets)), targets] = 0.9
    each = (wanted * (wanted.clamp_min(1e-9).log() - plain.logits.log_softmax(-1))).sum(-1)
    torch.testing.assert_close(found.loss, each.mean(), **CLOSE)
    assert found.terms.keys() == {"nll", "smoothing"}
    torch.testing.assert_close(found.terms["nll"], plain.loss)
    torch.testing.assert_close(found.terms["nll"] + found.terms["smoothing"], found.loss)
    assert torch.equal(found.nll, plain.nll)
    torch.testing.assert_close(model(**batch, num_items_in_batch=1).loss, each.sum(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("variant", ["plain", "pointer"])
def test_packed_it_says_the_same(variant):
    model, batch = tiny_model("seq2seq", "sum", variant), batch_of(side="left")
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        plain = model(**batch).logits.softmax(-1)[real]
        packed = model.pack()(**batch).logits.float().softmax(-1)[real]
    assert (packed - plain).abs().mean() < 0.01
    assert model.generate(**batch, max_new_tokens=4, do_sample=False).shape[1] > 9


def test_random_words_come_in_as_loud_as_their_positions():
    torch.manual_seed(0)
    model = create(hidden_size=64)
    brought = model.decoder.project(model.words.weight)
    assert brought.std().item() == pytest.approx(1, rel=0.1)
    assert model.words.weight.std().item() == pytest.approx(1 / 8, rel=0.1)
