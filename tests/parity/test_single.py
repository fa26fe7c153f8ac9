"""Parity with numbers recorded from TransferGPT2 of Cao et al. 2020: one joined input, GPT-2 with two heads."""

import pytest
import torch

from personae.decoding import Decoding
from tests.parity.files import for_every_file
from tests.parity.published_single import Recording

CLOSE = {"atol": 1e-5, "rtol": 1e-4}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "multi-source", "single_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Recording:
    return Recording.load(request.param)


def test_logits_and_loss(recording: Recording) -> None:
    model, row = recording.model(), recording.row()
    kept = row["attention_mask"]
    with torch.no_grad():
        loss = model(**row).loss
        logits = model(**{name: value for name, value in row.items() if name != "labels"}).logits
    torch.testing.assert_close(logits[kept], recording.tensors["out.logits"][kept], **CLOSE)
    torch.testing.assert_close(loss, recording.tensors["out.lm_loss"], **CLOSE)


@torch.no_grad()
def test_choice(recording: Recording) -> None:
    """The head reads the last real token."""
    row = recording.row()
    names = ("input_ids", "token_type_ids", "attention_mask")
    candidates = {name: row[name][:, None] for name in names}
    found = recording.model()(**{name: row[name] for name in names}, candidates=candidates)
    torch.testing.assert_close(found.choice_logits[:, 0], recording.tensors["out.mc_logits"], **CLOSE)


@pytest.mark.parametrize("example", range(3))
def test_beam_search(recording: Recording, example: int) -> None:
    """The published reply begins with its begin token and is cut to 32; ours are the words alone."""
    expected = recording.tensors[f"out.beam_predict.{example}"].tolist()
    prompt, special = recording.prompt(example), recording.special
    ids = (special["<talker1_bos>"], special["<eos>"], special["<pad>"])
    settings = Decoding(max_tokens=32, beams=3, search="published").arguments(*ids)
    found = recording.model().generate(**prompt, **settings)[0, prompt["inputs"].shape[1] :].tolist()
    assert prompt["inputs"][0, -1] == expected[0] == special["<talker1_bos>"]
    assert [token for token in found if token not in ids[1:]] == expected[1:]
