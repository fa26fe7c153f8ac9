"""Parity of the binary head with the published two classes (PAA's double heads); [CLS] and positions as published."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from personae.models import FusedModel
from tests.parity.published_paa import CLS, Recording, padded_positions

CLOSE = {"atol": 1e-4, "rtol": 1e-4}


@pytest.fixture
def recording(reference: Path) -> Recording:
    path = reference / "paa" / "pr-cr.double_heads.safetensors"
    if not path.is_file():
        pytest.skip(f"no recorded numbers in {path}")
    return Recording.load(path)


def model_of(recording: Recording) -> FusedModel:
    """One logit for right or wrong is the difference of the two classes' logits, class 1 being right."""
    config = recording.config()
    config.candidate_head = "binary"
    model = FusedModel(config).eval()
    weight, bias = (recording.tensors[f"param.cls_head.{part}"].diff(dim=0) for part in ("weight", "bias"))
    head = {"candidate_head.score.weight": weight, "candidate_head.score.bias": bias}
    model.load_state_dict({**model.state_dict(), **recording.parameters(), **head})
    return model


def rows(recording: Recording) -> dict[str, Tensor]:
    """Candidates (3, 1, T): the decoder's rows with [CLS] behind their padding."""
    ids, mask, _ = recording.row()
    end = torch.ones(ids.shape[0], 1, dtype=ids.dtype)
    ids, mask = torch.cat([ids, CLS * end], dim=1), torch.cat([mask, end], dim=1)
    found = {"input_ids": ids, "attention_mask": mask, "position_ids": padded_positions(ids)}
    return {name: each[:, None] for name, each in found.items()}


@torch.no_grad()
def test_a_binary_score_is_the_difference_of_the_two_classes(recording: Recording) -> None:
    model = model_of(recording)
    ids, mask = recording.prompt()
    found = model(ids, mask, padded_positions(ids), sources=recording.sources(), candidates=rows(recording))
    two = recording.tensors["cls_logits"]
    torch.testing.assert_close(found.choice_logits[:, 0], two[:, 1] - two[:, 0], **CLOSE)
    torch.testing.assert_close(torch.sigmoid(found.choice_logits[:, 0]), two.softmax(-1)[:, 1], **CLOSE)
