"""Parity of the AdaND model with numbers recorded from the published code (Cai et al. 2019).

The published recurrent layers read padding, which ``padding=read`` does too; its draws for theta are put in place of
ours. Models run in float64, so that what differs is the recordings' rounding, which layer norms over few and near
values multiply.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from personae.decoding.adapter import CustomSearch
from personae.decoding.beam_parlai import parlai_beam_search
from personae.models import AdandModel
from tests.parity import published_adand as published
from tests.parity.files import for_every_file

CLOSE = {"atol": 3e-4, "rtol": 1e-4}
ROUNDING = 1e-3  # of the largest entry of a gradient
GREEDY_STEPS, BEAM_STEPS, PENALTY = 8, 12, 0.65


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "adand", "model_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> published.Recording:
    return published.Recording.load(Path(request.param))


@pytest.fixture
def model(recording: published.Recording) -> AdandModel:
    return recording.model(published.below(recording.tensors, "w.")).double().eval()


def with_noise(model: AdandModel, monkeypatch: pytest.MonkeyPatch, noise: Tensor | None) -> None:
    if model.inferrer is not None:
        assert noise is not None
        monkeypatch.setattr(model.inferrer, "noise", noise.to)


def test_encoder_and_theta(recording: published.Recording, model: AdandModel, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = recording.tensors
    with_noise(model, monkeypatch, tensors.get("noise.eps_prior"))
    heard = model.encode(recording.sources)["context"]
    same(heard.states, tensors["out.enc_out"])
    assert torch.equal(heard.mask, tensors["out.attn_mask"])
    for at, name in ((0, "h"), (1, "c")):
        parts = [torch.cat([state[at], *state[at + 2 : at + 3]], dim=-1)[0] for state in heard.final]
        same(torch.stack(parts, dim=1), tensors[f"out.enc_{name}"])
    for name in ("zeta", "theta"):
        if f"mid.{name}" in tensors and (found := getattr(heard.given, name)) is not None:
            same(found, tensors[f"mid.{name}"])


def test_logits_loss_and_gradients(
    recording: published.Recording, model: AdandModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = recording.tensors
    with_noise(model, monkeypatch, tensors.get("noise.eps_prior"))
    batch = recording.batch()
    rows = {name: value for name, value in batch.items() if name != "labels"}
    real = batch["attention_mask"][:, :-1]  # what is read after the reply, padding, is nothing to us
    same(model(**rows).logits[:, :-1][real], tensors["out.logits"][real])
    output = model(**batch, objective="reply")
    same(output.nll.sum(), tensors["out.nll_sum"])
    same(output.loss, tensors["out.loss"])
    output.loss.backward()
    expected = published.parameters(published.below(tensors, "grad_w."))
    found = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
    assert found.keys() == expected.keys()
    for name, grad in found.items():
        atol = CLOSE["atol"] + ROUNDING * expected[name].abs().max().item()
        torch.testing.assert_close(
            grad.float(), expected[name], rtol=0, atol=atol, msg=lambda text, n=name: f"{n} {text}"
        )


@torch.no_grad()
def test_greedy_replies(recording: published.Recording, model: AdandModel, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = recording.tensors
    with_noise(model, monkeypatch, tensors.get("greedy.eps_prior"))
    found = model.generate(
        **recording.prompts(),
        do_sample=False,
        max_new_tokens=GREEDY_STEPS,
        output_logits=True,
        return_dict_in_generate=True,
    )
    assert torch.equal(found.sequences, tensors["greedy.tokens"])
    same(torch.stack(found.logits, dim=1), tensors["greedy.logits"])


@torch.no_grad()
def test_beam_replies(recording: published.Recording, model: AdandModel, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = {key.split(".")[0] for key in recording.tensors if key.startswith("beam")}
    assert searches
    for name in sorted(searches):
        beams, least = (int(part) for part in name.removeprefix("beam").split("_min"))
        expected = published.below(recording.tensors, f"{name}.")
        with_noise(model, monkeypatch, expected.get("eps_prior"))
        found = model.generate(**recording.prompts(), **search(beams, least))
        for row, (ids, score) in enumerate(zip(found.sequences, found.sequences_scores, strict=True)):
            said = expected[f"tokens{row}"]
            assert torch.equal(ids[: len(said)], said), (name, row)
            assert (ids[len(said) :] == 0).all()
            same(score, expected[f"score{row}"])


def search(beams: int, least: int) -> dict[str, Any]:
    return {
        "num_beams": beams,
        "min_new_tokens": least,
        "max_new_tokens": BEAM_STEPS,
        "do_sample": False,
        "return_dict_in_generate": True,
        "custom_generate": CustomSearch(parlai_beam_search, PENALTY),
    }


def same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found.to(expected.dtype), expected, **CLOSE)
