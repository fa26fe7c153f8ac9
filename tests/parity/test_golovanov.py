"""Parity with numbers recorded from MI-GPT (Golovanov et al. 2019), as kept in the code of Cao et al. 2020."""

import pytest
import torch

from personae.decoding import Decoding
from tests.parity.files import for_every_file
from tests.parity.published_golovanov import SOURCES, THEIRS, Recording

CLOSE = {"atol": 1e-5, "rtol": 1e-4}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "multi-source", "golovanov_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Recording:
    return Recording.load(request.param)


@pytest.mark.parametrize("name", SOURCES)
@torch.no_grad()
def test_sources_and_their_own_next_tokens(recording: Recording, name: str) -> None:
    model, source = recording.model(), recording.rows(THEIRS[name])
    kept, states = source["attention_mask"], model.encode_source(name, source).states
    tensors = recording.tensors
    torch.testing.assert_close(states[kept], tensors[f"out.enc_{THEIRS[name]}"][kept], **CLOSE)
    torch.testing.assert_close(model.head(states[kept]), tensors[f"out.{THEIRS[name]}_lm_logits"][kept], **CLOSE)


@torch.no_grad()
def test_logits(recording: Recording) -> None:
    inputs = recording.inputs()
    logits, kept = recording.model()(**inputs).logits, inputs["attention_mask"]
    torch.testing.assert_close(logits[kept], recording.tensors["out.logits"][kept], **CLOSE)


@torch.no_grad()
def test_choice(recording: Recording) -> None:
    """The head reads the last token of the whole target, its end token."""
    candidates = {name: value[:, None] for name, value in recording.rows("target").items()}
    scores = recording.model()(**recording.inputs(), candidates=candidates).choice_logits
    torch.testing.assert_close(scores[:, 0], recording.tensors["out.mc_logits"], **CLOSE)


@torch.no_grad()
def test_beam_search(recording: Recording) -> None:
    model, ids = recording.model(), [recording.number(name) for name in ("bos", "eos", "pad")]
    begin = recording.rows("target")["input_ids"][:, :1]
    settings = Decoding(max_tokens=32, beams=3, search="published").arguments(*ids)
    found = model.generate(begin, sources=recording.sources(), token_type_ids=begin, **settings)
    for row, reply in enumerate(found[:, 1:].tolist()):
        expected = recording.tensors[f"out.beam_predict.{row}"].tolist()
        assert [token for token in reply if token not in ids[1:]] == expected
