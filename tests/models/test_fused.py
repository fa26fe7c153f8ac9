"""The fused model's own promises: its size, its options, its configuration."""

import pytest
import torch

from personae.errors import UserError
from personae.fusion import Fusion
from personae.layers.blocks import AfterBlock
from personae.models import FusedConfig, FusedModel
from tests.helpers import DECODER, ENCODER, IDS, SOURCES, batch_of, tiny_model

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
