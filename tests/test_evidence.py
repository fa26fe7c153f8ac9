"""Evidence: shares from contributions, words from pieces."""

import math

import pytest
import torch
from torch import nn

from personae.errors import UserError
from personae.evidence import Evidence, Piece, Recorder, average, mean_shares, norms, words
from personae.models import FusedConfig, FusedModel

SOURCES = ("persona", "context")


def model(fusion: str = "sum", sources: tuple[str, ...] = SOURCES) -> FusedModel:
    torch.manual_seed(0)
    config = FusedConfig(
        sources=list(sources),
        fusion={"name": fusion, **({"tau": 0.5} if fusion == "paa" else {})},
        decoder={"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
        encoder={"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32},
        vocab_size=60,
        bos_token_id=57,
        eos_token_id=58,
        pad_token_id=59,
    )
    return FusedModel(config).eval()


def batch(rows: int = 2, sources: tuple[str, ...] = SOURCES) -> dict:
    ids = torch.randint(0, 50, (rows, 7))
    parts = {
        name: {"input_ids": ids[:, : 3 + at], "attention_mask": torch.ones(rows, 3 + at, dtype=torch.bool)}
        for at, name in enumerate(sources)
    }
    return {"input_ids": ids, "sources": parts}


def record(network: FusedModel, **inputs) -> Recorder:
    with torch.no_grad(), Recorder(network, SOURCES) as recorder:
        network(**inputs)
    return recorder


@pytest.mark.parametrize("fusion", ["sum", "paa"])
def test_shares_sum_to_1(fusion):
    (shares,) = record(model(fusion), **batch()).passes
    assert shares.shape == (2, 7, 2)
    torch.testing.assert_close(shares.sum(-1), torch.ones(2, 7))
    assert (shares > 0).all()


def test_shares_are_the_mean_over_layers_of_normalised_norms():
    first = norms([torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[0.0, 15.0]]])])
    second = norms([torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]])])
    assert first.tolist() == [[[5.0, 15.0]]]
    torch.testing.assert_close(mean_shares(torch.stack([first, second])), torch.tensor([[[0.625, 0.375]]]))


def test_a_silent_layer_is_left_out_and_all_silent_is_zero():
    spoke, silent = torch.tensor([[[1.0, 3.0]]]), torch.zeros(1, 1, 2)
    assert mean_shares(torch.stack([spoke, silent])).tolist() == [[[0.25, 0.75]]]
    assert mean_shares(torch.stack([silent, silent])).tolist() == [[[0.0, 0.0]]]


def test_a_source_that_says_nothing_has_share_0():
    network = model("sum")
    for block in network.decoder.h:
        nn.init.zeros_(block.asks[0].attention.c_proj.weight)
        nn.init.zeros_(block.asks[0].attention.c_proj.bias)
    (shares,) = record(network, **batch()).passes
    assert (shares[..., 0] == 0).all()
    assert (shares[..., 1] == 1).all()


def test_cached_steps_record_what_the_full_pass_does():
    network, inputs = model("paa"), batch(rows=1)
    (full,) = record(network, **inputs).passes
    with torch.no_grad(), Recorder(network, SOURCES) as recorder:
        memory = network.encode(inputs["sources"])
        cache = network(input_ids=inputs["input_ids"][:, :4], memory=memory, use_cache=True).past_key_values
        for at in range(4, 7):
            network(input_ids=inputs["input_ids"][:, at : at + 1], memory=memory, past_key_values=cache)
    assert [shares.shape[1] for shares in recorder.passes] == [4, 1, 1, 1]
    torch.testing.assert_close(torch.cat(recorder.passes, dim=1), full)
    assert recorder.token(1).shares == pytest.approx(record(network, **inputs).following(4)(1).shares, abs=1e-5)


def test_recording_changes_nothing_and_leaves_no_hook():
    network, inputs = model("paa"), batch()
    with torch.no_grad():
        plain = network(**inputs).logits
        with Recorder(network, SOURCES) as recorder:
            hooked = network(**inputs).logits
        network(**inputs)
    assert torch.equal(plain, hooked)
    assert len(recorder.passes) == 1


def test_a_model_without_sources_has_nothing_to_explain():
    with pytest.raises(UserError, match="fuses no sources"):
        Recorder(model(sources=()), ())


def test_average_weighs_by_tokens():
    parts = [Evidence({"a": 1.0, "b": 0.0}, tokens=3), Evidence({"a": 0.0, "b": 1.0})]
    assert average(parts) == Evidence({"a": 0.75, "b": 0.25}, tokens=4)


def test_words_go_up_to_the_next_leading_blank():
    given = [Piece("re", Evidence({"a": 1.0})), Piece("x", Evidence({"a": 0.0})), Piece(" is"), Piece(" a"), Piece("t")]
    merged = list(words(given))
    assert [word.text for word in merged] == ["rex", " is", " at"]
    assert merged[0].evidence == Evidence({"a": 0.5}, tokens=2)
    assert merged[1].evidence is None
    assert list(words([])) == []


def test_words_come_as_soon_as_they_are_whole():
    def pieces():
        yield from (Piece("re"), Piece("x"), Piece(" is"))
        pytest.fail("asked for more than the first word needs")

    assert next(words(pieces())).text == "rex"


def test_shares_of_half_precision_are_finite():
    shares = mean_shares(norms([torch.full((1, 1, 4), 6e4, dtype=torch.float16)] * 2)[None])
    assert math.isclose(shares[0, 0, 0].item(), 0.5)
