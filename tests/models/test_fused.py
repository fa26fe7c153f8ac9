"""The fused model's own promises: its size, its options, its configuration."""

import pytest
import torch

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.attention import BorrowedAttention
from personae.layers.blocks import AfterBlock, BesideBlock, PostBesideBlock
from personae.models import FusedConfig, FusedModel
from tests.helpers import CLOSE, DECODER, ENCODER, IDS, SOURCES, batch_of, only, shake, tiny_model, with_labels

PAPER_ENCODER = {"num_hidden_layers": 4, "num_attention_heads": 4}


def at_full_size(**options):
    """A model at the paper's size, without the memory."""
    chosen = {"encoder": PAPER_ENCODER, "decoder": {"size": "small"}, "pooler": True, **options}
    with torch.device("meta"):
        return FusedModel(FusedConfig(**chosen))


def parameters(model):
    """Number of parameters, the encoders' word tables left out."""
    words = sum(encoder.bert.embeddings.word_embeddings.weight.numel() for encoder in model.encoders.values())
    return sum(one.numel() for one in model.parameters()) - words


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"fusion": {"name": "paa"}}, 254_021_376),
        ({"fusion": {"name": "sum"}}, 239_856_384),
        ({"fusion": {"name": "paa"}, "share_encoder": True}, 224_683_008),
        ({"fusion": {"name": "paa"}, "share_attention": True}, 225_654_528),
        ({"fusion": {"name": "sum"}, "sources": ["context"]}, 182_151_168),
        ({"fusion": {"name": "paa"}, "pooler": False}, 254_021_376 - 2 * 590_592),
    ],
)
def test_the_published_number_of_parameters(options, count):
    assert parameters(at_full_size(**options)) == count


# Cao et al. append nine words to GPT-2's; with our eight a model has 768 parameters less per word table.
CAO = {"encoder_kind": "gpt2", "encoder": {}, "pooler": False, "share_encoder": True, "block": "beside"}
ONE_MODULE = {"encoder_kind": "decoder", "share_encoder": False}


@pytest.mark.parametrize(
    ("fusion", "options", "count", "millions"),
    [
        ("mean", {}, 305_590_272, 305.59),
        ("source-weight", {}, 305_590_308, 305.59),
        ("dimension-weight", {}, 305_617_920, 305.62),
        ("linear", {}, 326_833_152, 326.83),
        ("attention", {}, 312_677_376, 312.68),
        ("mean", {**ONE_MODULE, "share_self_attention": True}, 124_446_720, 124.45),
        ("mean", {"share_self_attention": True}, 248_893_440, 248.89),
        ("mean", ONE_MODULE, 181_143_552, 181.14),
    ],
)
def test_the_parameters_of_gpt2_encoders_beside_self_attention(fusion, options, count, millions):
    for words, tables in ((50266, 0), (50265, 1 if options.get("encoder_kind") == "decoder" else 2)):
        chosen = {**CAO, "fusion": {"name": fusion}, "vocab_size": words, **options}
        found = sum(one.numel() for one in at_full_size(**chosen).parameters())
        assert found == count - 768 * tables
        assert found / 1e6 == pytest.approx(millions, abs=0.006)


def test_routing_has_what_paa_has_but_the_gate():
    """The published count of 254,021,376 holds a gate of 14,164,992 parameters that routing never asks."""
    assert parameters(at_full_size(fusion={"name": "routing"})) == 254_021_376 - 14_164_992
    assert parameters(at_full_size(fusion={"name": "routing", "gate": True})) == 254_021_376


def test_one_joint_source_is_encoder_gpt2():
    chosen = {"fusion": {"name": "sum"}, "sources": ["persona+context"]}
    assert parameters(at_full_size(**chosen)) == 182_151_168


@pytest.mark.parametrize(
    ("size", "layers", "width", "heads"), [("small", 12, 768, 12), ("medium", 24, 1024, 16), ("large", 36, 1280, 20)]
)
def test_the_sizes_have_their_true_depth(size, layers, width, heads):
    model = at_full_size(fusion={"name": "paa"}, decoder={"size": size})
    blocks = [part for part in model.modules() if isinstance(part, AfterBlock)]
    assert len(blocks) == layers
    assert sum(isinstance(part, Fusion) for part in model.modules()) == layers
    assert blocks[0].attn.c_attn.weight.shape == (width, 3 * width)
    assert {block.attn.num_heads for block in blocks} == {heads}
    assert {block.asks[0].attention.heads for block in blocks} == {heads}
    assert all((block.bridge is None) == (width == 768) for block in blocks)


def create(fusion=None, sources=SOURCES, **options):
    fusion = {"name": "paa"} if fusion is None else fusion
    return FusedModel.create(sources, fusion, IDS, {"encoder": ENCODER, "decoder": DECODER, **options})


def complaint(**given):
    with pytest.raises(UserError) as caught:
        create(**given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_model_with_sources_needs_a_fusion_by_name():
    for fusion in ({}, {"tau": 0.5}):
        message = complaint(fusion=fusion)
        assert "model.fusion.name" in message
        assert ", ".join(Fusion.names()) in message


def test_an_unknown_fusion_lists_the_choices():
    assert "unknown fusion 'pa'. Did you mean 'paa'?" in complaint(fusion={"name": "pa"})


def test_an_unknown_fusion_option_names_the_nearest():
    assert "'tua'. Did you mean 'tau'?" in complaint(fusion={"name": "paa", "tua": 0.5})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"share_encodr": True}, "'model.options.share_encodr'. Did you mean 'share_encoder'?"),
        ({"decoder": {"n_emb": 16}}, "'model.options.decoder.n_emb'. Did you mean 'n_embd'?"),
        ({"encoder": {"hidden_siz": 16}}, "'model.options.encoder.hidden_siz'. Did you mean 'hidden_size'?"),
        ({"decoder": {"size": "huge"}}, "choose one of small, medium, large"),
        ({"decoder": {**DECODER, "n_embd": "wide"}}, "n_embd"),
        ({"decoder": {**DECODER, "n_head": 3}}, "model: "),
        ({"encoder": {**ENCODER, "num_attention_heads": 3}}, "model: "),
        ({"encoder": {**ENCODER, "hidden_act": "glu2"}}, "glu2"),
        ({"share_words": True, "encoder": {**ENCODER, "hidden_size": 12}}, "share_words needs"),
        ({"share_words": "perhaps"}, "share_words"),
        ({"decoder": 3}, "decoder"),
    ],
)
def test_bad_options_are_the_users_error(options, expected):
    assert expected in complaint(**options)


def test_word_tables_can_be_shared():
    model = tiny_model(variant="share_words")
    for encoder in model.encoders.values():
        assert encoder.bert.embeddings.word_embeddings.weight is model.decoder.wte.weight


def test_word_tables_are_apart_otherwise():
    tables = [encoder.bert.embeddings.word_embeddings.weight for encoder in tiny_model().encoders.values()]
    assert tables[0] is not tables[1]
    assert not torch.equal(tables[0], tables[1])


def test_a_missing_source_is_the_users_error():
    batch = batch_of()
    del batch["sources"]["context"]
    with pytest.raises(UserError, match="'context'"):
        tiny_model()(**batch)


def test_the_order_of_sources_in_a_batch_does_not_matter():
    model, batch = tiny_model(), batch_of()
    turned = {**batch, "sources": dict(reversed(batch["sources"].items()))}
    with torch.no_grad():
        assert torch.equal(model(**turned).logits, model(**batch).logits)


def test_explicit_positions_are_used():
    model, batch = tiny_model(), batch_of(lengths=(6, 6, 6))
    plain = model(**batch).logits
    same = model(**batch, position_ids=torch.arange(6).expand(3, 6)).logits
    assert torch.equal(same, plain)
    assert (model(**batch, position_ids=1 + torch.arange(6).expand(3, 6)).logits - plain).abs().max() > 1e-3


def test_random_weights_start_as_gpt2s_do():
    torch.manual_seed(0)
    decoder = {**DECODER, "n_embd": 128, "n_layer": 8}
    block = create(decoder=decoder).decoder.h[0]
    for weight in (block.attn.c_attn.weight, block.mlp.c_fc.weight, block.asks[0].attention.c_attn.weight):
        assert weight.std().item() == pytest.approx(0.02, rel=0.05)
    for weight in (block.attn.c_proj.weight, block.mlp.c_proj.weight, block.asks[1].attention.c_proj.weight):
        assert weight.std().item() == pytest.approx(0.02 / 16**0.5, rel=0.05)
    assert block.asks[0].attention.c_attn.bias.abs().max() == 0


GPT2 = {"encoder_kind": "gpt2", "encoder": {"n_layer": 1, "n_positions": 32}}
ITSELF = {"encoder_kind": "decoder", "encoder": {}}
BESIDE = {"block": "beside", "fusion": {"name": "mean"}}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"share_self_attention": True}, "share_self_attention needs model.options.block=beside"),
        ({"post_norm": True}, "post_norm needs model.options.block=beside"),
        ({"block": "beside", "share_self_attention": True, "share_attention": True}, "leave out share_attention"),
        ({"causal_encoder": True}, "causal_encoder needs model.options.encoder_kind=gpt2 or decoder"),
        ({"source_losses": {"persona": 1.0}}, "source_losses needs model.options.encoder_kind=gpt2 or decoder"),
        ({**GPT2, "source_losses": {"persone": 1.0}}, "'persone', which is no source. Did you mean 'persona'?"),
        ({**GPT2, "source_losses": {"persona": "much"}}, "source_losses"),
        ({**GPT2, "pooler": True}, "pooler needs model.options.encoder_kind=bert"),
        ({**ITSELF, "share_words": True}, "shares everything already: leave out share_words"),
        ({**ITSELF, "share_encoder": True}, "shares everything already: leave out share_encoder"),
        ({**ITSELF, "encoder": {"n_layer": 1}}, "takes the decoder's geometry: leave out model.options.encoder"),
        ({**GPT2, "encoder": {"hidden_size": 16}}, "unknown recipe key 'model.options.encoder.hidden_size'"),
        ({"encoder": {"n_layer": 1}}, "unknown recipe key 'model.options.encoder.n_layer'"),
        ({"encoder_kind": "gtp2"}, "encoder_kind='gtp2'. Did you mean 'gpt2'? Choose one of: bert, gpt2, decoder"),
        ({"block": "besides"}, "block='besides'. Did you mean 'beside'? Choose one of: after, beside"),
        ({"block": "beside"}, "fusion 'paa' cannot have self-attention beside it: set model.options.block=after, or"),
        ({"count_back": ["contxt"]}, "'contxt', which is no source. Did you mean 'context'?"),
        ({"candidate_head": "bianry"}, "candidate_head='bianry'. Did you mean 'binary'?"),
        ({"candidate_loss": 2}, "candidate_loss needs model.options.candidate_head=choice or binary"),
        ({"candidate_head": "choice", "candidate_loss": 0}, "candidate_loss=0 should be above 0"),
    ],
)
def test_contradictions_are_the_users_error(options, expected):
    assert expected in complaint(**options)


def test_a_block_beside_nothing_is_the_users_error():
    with pytest.raises(UserError, match="block=beside needs sources to stand there"):
        FusedModel.create([], {}, IDS, {"decoder": DECODER, "block": "beside"})


def test_weights_of_losses_may_be_whole_numbers():
    config = create(
        **GPT2, reply_loss=2, source_losses={"persona": 1}, candidate_head="choice", candidate_loss=3
    ).config
    assert (config.reply_loss, config.source_losses, config.candidate_loss) == (2, {"persona": 1}, 3)


def test_each_option_builds_its_parts():
    assert {type(block) for block in create().decoder.h} == {AfterBlock}
    assert {type(block) for block in create(**BESIDE).decoder.h} == {BesideBlock}
    assert set(create(**GPT2).encoders) == set(SOURCES)
    assert set(create(**GPT2, share_encoder=True).encoders) == {"shared"}
    assert len(create(**ITSELF).encoders) == 0
    shared = create(**ITSELF, **BESIDE, share_self_attention=True, post_norm=True)
    assert {type(block) for block in shared.decoder.h} == {PostBesideBlock}
    assert all(isinstance(block.asks[0].attention, BorrowedAttention) for block in shared.decoder.h)
    plain = create(sources=(), fusion={})
    of_norms = {key for key, _ in plain.named_parameters() if "ln_f" in key}
    ours, theirs = ({key for key, _ in model.named_parameters()} for model in (shared, plain))
    assert theirs - ours == of_norms
    assert ours - theirs == set()


@pytest.mark.parametrize("options", [GPT2, ITSELF])
@pytest.mark.parametrize("causal", [True, False])
def test_a_causal_encoder_sees_no_later_token(options, causal):
    torch.manual_seed(0)
    model = shake(create(**options, causal_encoder=causal)).eval()
    source = batch_of()["sources"]["context"]
    changed = {**source, "input_ids": source["input_ids"].clone()}
    changed["input_ids"][2, 6] += 1
    with torch.no_grad():
        one, two = (model.encode_source("context", each).states[2] for each in (source, changed))
    assert torch.equal(one[:6], two[:6]) == causal
    assert not torch.equal(one[6], two[6])


def with_source_labels(batch):
    for source in batch["sources"].values():
        source["labels"] = source["input_ids"].masked_fill(source["attention_mask"] == 0, -100)
    return with_labels(batch)


@pytest.mark.parametrize("options", [GPT2, ITSELF])
def test_source_losses_are_weighed_beside_the_replys(options):
    torch.manual_seed(0)
    weights = {"persona": 0.5, "context": 3.0}
    model = shake(create(**options, causal_encoder=True, source_losses=weights, reply_loss=2.0)).eval()
    batch = with_source_labels(batch_of())
    output = model(**batch)
    terms = output.terms
    assert set(terms) == {"nll", "nll_persona", "nll_context"}
    expected = 2 * terms["nll"] + 0.5 * terms["nll_persona"] + 3 * terms["nll_context"]
    torch.testing.assert_close(output.loss, expected, **CLOSE)
    source = batch["sources"]["persona"]
    logits = model.head(model.encode_source("persona", source).states)[:, :-1].flatten(0, 1)
    nats = torch.nn.functional.cross_entropy(logits, source["labels"][:, 1:].flatten())
    torch.testing.assert_close(terms["nll_persona"], nats.detach(), **CLOSE)
    for each in batch["sources"].values():
        del each["labels"]
    assert set(model(**batch).terms) == {"nll"}


def test_parts_take_their_share_of_the_source_losses():
    """Weighed by the labels of their replies, so that the logged terms add up to a mean too."""
    model = create(**ITSELF, causal_encoder=True, source_losses={"persona": 1.0}).eval()
    batch = with_source_labels(batch_of(lengths=(7, 7, 7), persona=(5, 5, 5)))
    items = (batch["labels"] != -100).sum()
    whole = model(**batch)
    parts = [model(**only(batch, row), num_items_in_batch=items) for row in range(3)]
    torch.testing.assert_close(sum(part.loss for part in parts), whole.loss, **CLOSE)
    for name, value in whole.terms.items():
        torch.testing.assert_close(sum(part.terms[name] for part in parts), value, **CLOSE)


def test_types_are_words_whose_embeddings_are_added():
    for options in ({}, GPT2, ITSELF):
        torch.manual_seed(0)
        model, batch = shake(create(**options)).eval(), batch_of()
        words = model.get_input_embeddings()
        plain = model(**batch).logits
        for part in (batch, *batch["sources"].values()):
            part["token_type_ids"] = torch.full_like(part["input_ids"], 3)
        typed = model(**batch).logits
        assert (typed - plain).abs().max() > 1e-2
        with torch.no_grad():
            for table in [words, *(one for key, one in model.encoders.named_modules() if is_words(key))]:
                table.weight[3] = 0
        assert torch.equal(model(**batch).logits, model(**without_types(batch)).logits)


def is_words(name):
    return name.endswith(("word_embeddings", "wte"))


def without_types(batch):
    kept = {name: value for name, value in batch.items() if name not in ("token_type_ids", "sources")}
    sources = batch["sources"].items()
    return {
        **kept,
        "sources": {name: {key: one[key] for key in one if key != "token_type_ids"} for name, one in sources},
    }
