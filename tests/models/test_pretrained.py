"""GPT-2 and OpenAI GPT checkpoints, as transformers saves them, in the decoder."""

import pytest
import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model, OpenAIGPTConfig, OpenAIGPTLMHeadModel, OpenAIGPTModel

from personae.errors import UserError
from personae.models import FusedModel
from tests.helpers import CLOSE, DECODER, ENCODER, IDS, SOURCES, batch_of, shake, tiny_model

WORDS = 30


def checkpoint(kind, folder, words=WORDS, **options):
    torch.manual_seed(3)
    marks = {"bos_token_id": 0, "eos_token_id": words - 1}
    model = shake(kind(GPT2Config(**{**DECODER, "vocab_size": words, **marks, **options})), seed=3).eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("kind", [GPT2LMHeadModel, GPT2Model])
def test_every_key_is_loaded_or_reported(kind, tmp_path):
    theirs = checkpoint(kind, tmp_path)
    model = tiny_model()
    report = model.load_decoder(str(tmp_path))
    assert report.unexpected == ()
    assert report.reshaped == ("wte.weight",)
    for key in report.missing:
        assert ".asks." in key or ".fusion." in key, key
    weights = (theirs.transformer if kind is GPT2LMHeadModel else theirs).state_dict()
    ours = model.decoder.state_dict()
    assert set(ours) - set(weights) == set(report.missing)
    for key, value in weights.items():
        assert torch.equal(ours[key][: len(value)], value), key


def test_the_report_says_it_in_three_lines(tmp_path):
    checkpoint(GPT2Model, tmp_path)
    model = tiny_model()
    missing, unexpected, reshaped = model.load_decoder(str(tmp_path)).lines()
    assert missing.startswith("missing: ")
    assert "asks.0.attention.q_attn.weight" in missing
    assert unexpected.strip() == "unexpected: 0"
    assert reshaped == "reshaped: 1 wte.weight"


def test_new_words_start_near_the_end_of_text_token(tmp_path):
    theirs = checkpoint(GPT2Model, tmp_path)
    model = tiny_model()
    model.load_decoder(str(tmp_path))
    added = model.decoder.wte.weight[WORDS:]
    assert len(added) == IDS["vocab_size"] - WORDS
    away = added - theirs.wte.weight[-1]
    assert 0 < away.abs().max() < 0.02
    assert len(added.unique(dim=0)) == len(added)


def test_a_longer_window_is_cut(tmp_path):
    theirs = checkpoint(GPT2Model, tmp_path, words=IDS["vocab_size"], n_positions=64)
    model = tiny_model()
    assert model.load_decoder(str(tmp_path)).reshaped == ("wpe.weight",)
    assert torch.equal(model.decoder.wpe.weight, theirs.wpe.weight[: DECODER["n_positions"]])


@pytest.mark.parametrize(
    "options",
    [{"n_embd": 8}, {"n_positions": 40}, {"n_inner": 20}, {"words": 60}, {"n_head": 4}],
)
def test_another_geometry_is_the_users_error(options, tmp_path):
    checkpoint(GPT2Model, tmp_path, **options)
    model = tiny_model()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(UserError, match=r"model\.weights: .*model\.options\.decoder"):
        model.load_decoder(str(tmp_path))
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), f"{key} was changed before the error"


def test_a_missing_folder_is_the_users_error(tmp_path):
    with pytest.raises(UserError, match=r"model\.weights='.*nowhere'"):
        tiny_model().load_decoder(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(("layers", "kind"), [(1, "missing"), (3, "unexpected")])
def test_another_depth_is_reported_key_by_key(layers, kind, tmp_path):
    checkpoint(GPT2Model, tmp_path, n_layer=layers)
    model = tiny_model()
    named = {key for key in getattr(model.load_decoder(str(tmp_path)), kind) if ".asks." not in key}
    of_one_layer = {key for key in checkpoint(GPT2Model, tmp_path).state_dict() if key.startswith("h.1.")}
    expected = of_one_layer if layers == 1 else {key.replace("h.1.", "h.2.") for key in of_one_layer}
    assert {key for key in named if ".fusion." not in key} == expected


def test_keys_that_are_none_of_gpt2s_are_reported(tmp_path):
    theirs = checkpoint(GPT2Model, tmp_path)
    save_file({**theirs.state_dict(), "extra.weight": torch.zeros(2)}, tmp_path / "model.safetensors", {"format": "pt"})
    model = tiny_model()
    assert model.load_decoder(str(tmp_path)).unexpected == ("extra.weight",)


@pytest.mark.parametrize("damage", ["empty", "truncated", "other", "text"])
def test_a_damaged_or_foreign_checkpoint_is_the_users_error(damage, tmp_path):
    if damage == "other":
        tiny_model().save_pretrained(tmp_path)
    else:
        checkpoint(GPT2Model, tmp_path)
        file = tmp_path / "model.safetensors"
        content = {"empty": b"", "truncated": file.read_bytes()[:1000], "text": b"weights, not\n" * 100}[damage]
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"model\.weights=") as caught:
        tiny_model().load_decoder(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_without_sources_the_model_is_gpt2(tmp_path):
    theirs = checkpoint(GPT2LMHeadModel, tmp_path, words=IDS["vocab_size"])
    model = tiny_model(sources=())
    report = model.load_decoder(str(tmp_path))
    assert (report.missing, report.unexpected, report.reshaped) == ((), (), ())
    batch = batch_of(side="left", sources=())
    places = (batch["attention_mask"].cumsum(-1) - 1).clamp_min(0)
    with torch.no_grad():
        ours = model(**batch).logits
        expected = theirs(batch["input_ids"], attention_mask=batch["attention_mask"], position_ids=places).logits
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(ours[real], expected[real], **CLOSE)
    told = {"max_new_tokens": 6, "do_sample": False, "eos_token_id": 38, "pad_token_id": 39}
    row = {name: batch[name] for name in ("input_ids", "attention_mask")}
    assert torch.equal(model.generate(**row, **told), theirs.generate(**row, **told))


def openai_checkpoint(kind, folder, words=WORDS, **options):
    torch.manual_seed(4)
    model = shake(kind(OpenAIGPTConfig(**{**DECODER, "vocab_size": words, **options})), seed=4).eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("kind", [OpenAIGPTModel, OpenAIGPTLMHeadModel])
def test_a_model_with_norms_after_their_sums_starts_from_openai_gpt(kind, tmp_path):
    theirs = openai_checkpoint(kind, tmp_path)
    model = tiny_model(fusion="mean", variant="post_norm")
    report = model.load_decoder(str(tmp_path))
    assert (report.unexpected, report.reshaped) == ((), ("wte.weight",))
    assert all(".asks." in key for key in report.missing)
    batch = batch_of(sources=())
    real, ids = batch["attention_mask"].bool(), batch["input_ids"].clamp_max(WORDS - 1)
    body = theirs if kind is OpenAIGPTModel else theirs.transformer
    with torch.no_grad():
        ours = model.decoder.encode(ids, batch["attention_mask"], None, causal=True).states
        torch.testing.assert_close(ours[real], body(ids).last_hidden_state[real], **CLOSE)


def test_openai_gpt_has_no_end_of_text_token_to_start_words_from(tmp_path):
    theirs = openai_checkpoint(OpenAIGPTModel, tmp_path)
    model = tiny_model(fusion="mean", variant="post_norm")
    model.load_decoder(str(tmp_path))
    added = model.decoder.wte.weight[WORDS:]
    assert 0 < added.abs().max() < 0.1
    assert (added - theirs.tokens_embed.weight[-1]).abs().max() > 0.2


@pytest.mark.parametrize(
    ("theirs", "variant", "title"), [("gpt2", "post_norm", "OpenAI GPT"), ("gpt", "plain", "GPT-2")]
)
def test_the_other_familys_checkpoint_is_the_users_error(theirs, variant, title, tmp_path):
    if theirs == "gpt2":
        checkpoint(GPT2Model, tmp_path)
    else:
        openai_checkpoint(OpenAIGPTModel, tmp_path)
    with pytest.raises(UserError, match=f"is no {title} checkpoint"):
        tiny_model(fusion="mean", variant=variant).load_decoder(str(tmp_path))


GPT2_ENCODER = {"encoder_kind": "gpt2", "encoder": {}}


def beside(**options):
    chosen = {"decoder": DECODER, "block": "beside", **options}
    torch.manual_seed(0)
    model = FusedModel.create(SOURCES, {"name": "mean"}, IDS, chosen)
    return shake(model).eval()


def assert_copied(model):
    """Every source attention is its layer's self-attention, and every encoder of GPT-2's kind the decoder."""
    for block in model.decoder.h:
        for ask in block.asks:
            for name in ("weight", "bias"):
                query, others = (getattr(part, name) for part in (ask.attention.q_attn, ask.attention.c_attn))
                assert torch.equal(torch.cat([query, others], dim=-1), getattr(block.attn.c_attn, name))
                assert torch.equal(getattr(ask.attention.c_proj, name), getattr(block.attn.c_proj, name))
    ours = model.decoder.state_dict()
    for encoder in model.encoders.values():
        for key, value in encoder.named_parameters():
            assert torch.equal(value, ours[key]), key


@pytest.mark.parametrize(
    "options",
    [
        GPT2_ENCODER,
        {**GPT2_ENCODER, "share_encoder": True},
        {**GPT2_ENCODER, "share_words": True},
        {"encoder_kind": "gpt2", "encoder": {"n_layer": 1}},
        {"encoder_kind": "decoder"},
        {**GPT2_ENCODER, "share_attention": True},
    ],
)
def test_beside_self_attention_everything_starts_from_the_checkpoint(options, tmp_path):
    theirs = checkpoint(GPT2Model, tmp_path)
    model = beside(**options)
    report = model.load_decoder(str(tmp_path))
    assert (report.unexpected, report.reshaped) == ((), ("wte.weight",))
    assert torch.equal(model.decoder.h[1].attn.c_attn.weight, theirs.h[1].attn.c_attn.weight)
    assert_copied(model)


def test_a_copied_attention_answers_as_the_self_attention_would(tmp_path):
    """Asked about a source, as where the two are one module."""
    checkpoint(GPT2Model, tmp_path)
    apart, one = beside(**GPT2_ENCODER, share_encoder=True), beside(encoder_kind="decoder", share_self_attention=True)
    torch.manual_seed(1)
    apart.load_decoder(str(tmp_path))
    torch.manual_seed(1)  # of the words that the checkpoint lacks
    one.load_decoder(str(tmp_path))
    batch = batch_of()
    with torch.no_grad():
        torch.testing.assert_close(apart(**batch).logits, one(**batch).logits, **CLOSE)


def test_a_bert_encoder_keeps_its_random_start(tmp_path):
    checkpoint(GPT2Model, tmp_path)
    model = beside(encoder=ENCODER)
    before = {key: value.clone() for key, value in model.encoders.state_dict().items()}
    model.load_decoder(str(tmp_path))
    assert all(torch.equal(value, before[key]) for key, value in model.encoders.state_dict().items())


def test_after_self_attention_sources_keep_their_random_start(tmp_path):
    checkpoint(GPT2Model, tmp_path)
    model = tiny_model(variant="gpt2_encoder")
    before = {key: value.clone() for key, value in model.state_dict().items() if ".asks." in key or "encoders" in key}
    model.load_decoder(str(tmp_path))
    assert all(torch.equal(model.state_dict()[key], value) for key, value in before.items())


def test_an_encoder_of_another_shape_is_the_users_error(tmp_path):
    checkpoint(GPT2Model, tmp_path)
    model = beside(encoder_kind="gpt2", encoder={"n_inner": 20})
    with pytest.raises(UserError, match=r"model\.options\.encoder: h\.0\.mlp.* the decoder's shape"):
        model.load_decoder(str(tmp_path))


def test_a_candidate_head_keeps_its_random_start(tmp_path):
    checkpoint(GPT2Model, tmp_path)
    model = beside(**GPT2_ENCODER, candidate_head="choice")
    before = model.candidate_head.score.weight.clone()
    model.load_decoder(str(tmp_path))
    assert torch.equal(model.candidate_head.score.weight, before)
