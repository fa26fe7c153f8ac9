"""Parity of ParlAI's beam search with traces recorded from the published one (Cai et al. 2019)."""

import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from personae.decoding.beam_parlai import parlai_beam_search
from personae.decoding.task import Found, Task
from tests.parity.files import File, for_every_file

BOS, EOS, PAD, MOST, PENALTY = 1, 2, 0, 15, 0.65


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "adand", "beam_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> File:
    return File.load(Path(request.param))


def found(table: Tensor, beams: int, least: int = 0, most: int = MOST, batch: int = 1) -> Found:
    """A search in which the next word depends on the last one alone."""

    def step(ids: Tensor, _: Tensor) -> Tensor:
        last = ids[:, -1] if ids.shape[1] else torch.full((len(ids),), BOS)
        following = table[last].clone()
        if ids.shape[1] < least:
            following[:, EOS] = -torch.inf
        return following

    task = Task(step, batch, beams, most, torch.tensor([EOS]), PAD, keep=beams)
    return parlai_beam_search(task, PENALTY)


def test_the_recorded_traces(recording: File) -> None:
    table = recording.tensors["log_probs_prev_next"]
    searches = {key.split(".")[0] for key in recording.tensors if key.endswith(".tokens")}
    assert searches
    for name in sorted(searches):
        match = re.fullmatch(r"b(\d+)_m(\d+)", name)
        assert match
        replies = found(table, int(match[1]), int(match[2]))
        said = recording.tensors[f"{name}.tokens"]
        length = int(replies.lengths[0, 0])
        assert replies.ids[0, 0, :length].tolist() == said[1:].tolist(), name
        torch.testing.assert_close(replies.scores[0, 0], recording.tensors[f"{name}.score"], atol=1e-4, rtol=0)
        every = recording.tensors[f"{name}.all_scores"][: int(match[1])]
        torch.testing.assert_close(replies.scores[0, : len(every)], every, atol=1e-4, rtol=0)


def test_a_batch_is_its_single_members() -> None:
    torch.manual_seed(0)
    tables = torch.randn(2, 6, 6).log_softmax(-1)

    def step(ids: Tensor, _: Tensor) -> Tensor:
        last = ids[:, -1] if ids.shape[1] else torch.full((len(ids),), BOS)
        return torch.cat([tables[row][part] for row, part in enumerate(last.chunk(2))])

    together = parlai_beam_search(Task(step, 2, 3, 8, torch.tensor([EOS]), PAD), PENALTY)
    for row in range(2):
        single = found(tables[row], 3, most=8)
        length = int(single.lengths[0, 0])
        assert together.ids[row, 0, :length].tolist() == single.ids[0, 0, :length].tolist()
        torch.testing.assert_close(together.scores[row, 0], single.scores[0, 0])


def test_what_does_not_end_is_cut_with_an_end_token() -> None:
    table = torch.full((4, 4), -torch.inf)
    table[:, 3] = math.log(0.5)
    replies = found(table, 1, most=4)
    assert replies.ids[0, 0].tolist() == [3, 3, 3, EOS]
    assert replies.scores[0, 0].item() == pytest.approx(4 * math.log(0.5) / (6 / 6) ** PENALTY)
