"""Parity with beam searches recorded from the published multi-source code (Cao et al. 2020), step by step."""

import json
from typing import Any

import pytest
import torch
from torch import Tensor

from personae.decoding.adapter import CustomSearch
from personae.decoding.beam_published import PublishedSearch
from personae.decoding.task import Found, Task, pick
from tests.parity.files import for_every_file
from tests.parity.published_multi_source import SOURCES, Recording

CLOSE = {"atol": 1e-4, "rtol": 1e-5}


class Traced(PublishedSearch):
    """Notes every step under the names of the recording."""

    def __init__(self, task: Task, alpha: float) -> None:
        super().__init__(task, alpha)
        self.steps: list[dict[str, Tensor]] = []

    def advance(self) -> bool:
        stop = super().advance()
        noted = {"normalised_score": self.scores, "penalty_of_old_beams": self.penalty, "raw_score_carried": self.sums}
        counted = {"length": self.lengths, "ended": self.ended.long(), "stop": torch.tensor([[stop]]).long()}
        self.steps.append({"ids": self.ids, **noted, **counted})
        return stop


class Regathered(Traced):
    """The published search with its sums restored by the penalty of the parent."""

    def restored(self) -> Tensor:
        return self.scores * pick(self.penalty, self.parents)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "multi-source", "beam_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Recording:
    return Recording.load(request.param)


def trace(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(recording.path.with_suffix(".json").read_text())
    return found


def searched(recording: Recording, rows: slice, kind: type[Traced] = Traced) -> tuple[Traced, list[list[int]]]:
    """The search of some of the samples, through the model's cache, and the replies without special tokens."""
    made: list[Traced] = []

    def search(task: Task, alpha: float) -> Found:
        made.append(kind(task, alpha))
        return made[0].run()

    sources = {name: {key: value[rows] for key, value in recording.source(name).items()} for name in SOURCES}
    begin = torch.full((len(sources["persona"]["input_ids"]), 1), recording.ids["<bos>"])
    ids = recording.model().generate(
        begin,
        token_type_ids=begin,
        sources=sources,
        num_beams=recording.number("beam_size"),
        max_new_tokens=recording.number("max_seq_len"),
        custom_generate=CustomSearch(search, float(recording.facts["length_penalty"])),
    )
    ends = {recording.ids["<eos>"], recording.ids["<pad>"]}
    return made[0], [[token for token in reply if token not in ends] for reply in ids[:, 1:].tolist()]


def test_a_batch_gives_the_recorded_beams_and_replies(recording: Recording) -> None:
    search, replies = searched(recording, slice(None))
    begin = torch.full_like(search.ids[..., :1], recording.ids["<bos>"])
    assert torch.equal(torch.cat([begin, search.ids], dim=-1), recording.tensors["out.beams"])
    assert torch.equal(search.lengths, recording.tensors["out.beam_lens"])
    assert replies == [recording.tensors[f"out.predict.{row}"].tolist() for row in range(len(replies))]


@pytest.mark.parametrize("row", range(3))
def test_every_step_is_the_recorded_one(recording: Recording, row: int) -> None:
    sample = trace(recording)["samples"][row]
    search, (reply,) = searched(recording, slice(row, row + 1))
    assert len(search.steps) == len(sample["steps"])
    beams: list[list[int]] = [[] for _ in range(recording.number("beam_size"))]
    for step, expected in zip(search.steps, sample["steps"], strict=True):
        # Not the parents themselves: two beams with the same words are equally good ones.
        beams = [[*beams[parent], token] for parent, token in zip(expected["parent"], expected["token"], strict=True)]
        assert step["ids"][0].tolist() == beams
        for key in ("normalised_score", "penalty_of_old_beams", "raw_score_carried"):
            torch.testing.assert_close(step[key][0], torch.tensor(expected[key]), **CLOSE)
        for key in ("length", "ended"):
            assert step[key][0].tolist() == expected[key]
        assert step["stop"].item() == expected["stop"]
    assert reply == sample["predict"]


@pytest.mark.parametrize("row", range(3))
def test_with_the_parents_penalty_it_is_the_recorded_correction(recording: Recording, row: int) -> None:
    _, (reply,) = searched(recording, slice(row, row + 1), Regathered)
    assert reply == trace(recording)["samples"][row]["predict_if_penalty_regathered"]
