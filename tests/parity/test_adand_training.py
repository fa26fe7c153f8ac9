"""Parity of AdaND's training steps with those recorded from the published agent (Cai et al. 2019).

Two batches, on each a step for the reply and one for the topics, by one Adam; with the PyTorch of the release
(``torch12``) and with today's (``setnone``).
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from personae.models import AdandModel
from personae.training.turns import keep_moving
from tests.parity import published_adand as published
from tests.parity.files import for_every_file

ADAM = {"lr": 1e-3, "betas": (0.9, 0.999), "weight_decay": 3e-7, "amsgrad": True}
CLIP = 0.1
TRAINING = {"torch12": "alternating-torch12", "setnone": "alternating"}
# Steps count batches here and half-steps there.
PUBLISHED = {"kl_middle": 1750, "kl_width": 500, "diversity": 0.1, "infer_topics": "always", "dropout": 0.0}
# An entry's rounding, what a step in the wrong direction makes in four half-steps, and the share of such entries.
ROUNDING, FLIPPED, FEW = 5e-5, 8e-3, 0.01


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "adand", "train_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> published.Recording:
    return published.Recording.load(Path(request.param))


def noises(recording: published.Recording, way: str, model: AdandModel) -> list[Tensor]:
    """What is drawn in ours, in order: the posterior, and before it the prior where the model reads theta.

    Theirs draw for the prior in the topics' step too, where its draw has no use.
    """
    reads = "theta" in model.config.reads
    each = 3 if reads else 2
    drawn = [recording.tensors[f"{way}.eps{at}"] for at in range(2 * each)]
    used = (0, each - 1) if reads else (each - 1,)
    return [drawn[call * each + at] for call in range(2) for at in used]


@pytest.mark.parametrize("way", list(TRAINING))
def test_two_batches(recording: published.Recording, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = recording.tensors
    model = recording.model(published.below(tensors, "w0."), training=TRAINING[way], **PUBLISHED).double().train()
    left = noises(recording, way, model)
    monkeypatch.setattr(model.inferrer, "noise", lambda like: left.pop(0).to(like))
    optimizer = torch.optim.Adam(model.parameters(), **ADAM)
    for step in range(2):
        model.begin_step(step)
        for objective, name in zip(model.objectives, ("gen", "topic"), strict=True):
            optimizer.zero_grad()
            model(**recording.batch(), objective=objective).loss.backward()
            if model.keeps_moving:
                keep_moving(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            recorded = tensors[f"{way}.step{step + 1}.{name}_gradnorm"]
            torch.testing.assert_close(norm.float(), recorded, atol=0, rtol=1e-3)
            optimizer.step()
            same_parameters(model, published.below(tensors, f"{way}.step{step + 1}.after_{name}."), f"{step} {name}")
    assert not left


def same_parameters(model: AdandModel, theirs: published.Tensors, when: str) -> None:
    """Up to rounding; where a gradient is hardly more than that, Adam's step may go the other way."""
    ours, expected = dict(model.named_parameters()), published.parameters(theirs)
    apart = {name: (value.float() - expected[name]).abs() for name, value in ours.items()}
    worst = max(apart, key=lambda name: apart[name].max().item())
    assert apart[worst].max() <= FLIPPED, f"{when} {worst}: {apart[worst].max()}"
    every = torch.cat([each.flatten() for each in apart.values()])
    assert (every > ROUNDING).float().mean() < FEW, f"{when}: {(every > ROUNDING).sum()} of {len(every)}, as in {worst}"
