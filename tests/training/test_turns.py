"""Losses minimised in turn: what moves when, through the trainer as through an optimiser."""

from pathlib import Path

import pytest
import torch

from personae.errors import UserError
from personae.training import train
from personae.training.trainer import DialogueTrainer
from personae.training.turns import keep_moving
from tests.helpers import TINY
from tests.training.small import digest, logged, small_recipe

ADAND = (
    "model.name=adand",
    "model.fusion={name: sum}",
    "model.prompt=[]",
    f"model.options={ {**TINY['adand'], 'topic_most': 1.0} }",
)
ALTERNATING = (*ADAND, "model.options.training=alternating")


@pytest.fixture(autouse=True)
def no_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("personae.training.draw_curve", lambda *_: None)


def test_only_what_had_a_gradient_keeps_moving() -> None:
    moved, never = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([moved, never], lr=0.1)
    moved.sum().backward()
    keep_moving(optimizer)
    optimizer.step()
    optimizer.zero_grad()
    before = moved.detach().clone()
    keep_moving(optimizer)
    optimizer.step()
    assert (moved < before).all()
    assert torch.equal(never, torch.ones(2))


def turns(recipe_options: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Which parts of the model each half-step of a run moved, from the last optimiser step on."""
    seen: list[set[str]] = []
    turn = DialogueTrainer._turn

    def watched(self: DialogueTrainer, model: torch.nn.Module, moving: bool) -> None:
        before = {name: one.detach().clone() for name, one in model.named_parameters()}
        turn(self, model, moving)
        seen.append({name.split(".")[0] for name, one in model.named_parameters() if not one.equal(before[name])})

    monkeypatch.setattr(DialogueTrainer, "_turn", watched)
    train(small_recipe(*recipe_options, "train.steps=2"), folder)
    return seen


def test_the_replys_step_leaves_the_inferrer_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = turns(ALTERNATING, tmp_path / "run", monkeypatch)
    assert len(moved) == 2
    assert all("inferrer" not in each and {"encoders", "context", "decoder", "words"} <= each for each in moved)


def test_with_the_pytorch_of_the_release_it_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = (*ADAND, "model.options.training=alternating-torch12")
    first, second = turns(stale, tmp_path / "run", monkeypatch)
    assert "inferrer" not in first
    assert "inferrer" in second


def test_the_log_has_the_terms_of_all_losses(tmp_path: Path) -> None:
    """Each once a step, however many optimiser steps that takes."""
    terms = {"loss/nll", "loss/topic_words", "loss/topic_kl", "loss/topic_diversity"}
    for name, options in (("joint", ADAND), ("turns", ALTERNATING)):
        report = train(small_recipe(*options, "train.steps=2"), tmp_path / name)
        lines = [line for line in report["history"] if "loss" in line]
        assert len(lines) == 2
        for line in lines:
            assert terms <= line.keys()
            assert sum(line[term] for term in terms) == pytest.approx(line["loss"], rel=1e-3)


def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    options = (*ALTERNATING, "model.options.kl_middle=4", "model.options.kl_width=2")
    whole = train(small_recipe(*options, "train.steps=6"), tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        step = DialogueTrainer.training_step

        def stops(self: DialogueTrainer, *rest: object, **more: object) -> object:
            if self.state.global_step == 4:
                raise KeyboardInterrupt
            return step(self, *rest, **more)

        patch.setattr(DialogueTrainer, "training_step", stops)
        with pytest.raises(KeyboardInterrupt):
            train(small_recipe(*options, "train.steps=6"), tmp_path / "broken")
    again = train(small_recipe(*options, "train.steps=6"), tmp_path / "broken", resume=True)
    assert logged(again, after=4) == logged(whole, after=4)
    files = [tmp_path / name / "model" / "model.safetensors" for name in ("whole", "broken")]
    assert digest(files[0]) == digest(files[1])


def test_turns_need_whole_batches(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"several steps on a batch, reply and topics: set train\.accumulation=1"):
        train(small_recipe(*ALTERNATING, "train.accumulation=2"), tmp_path / "run")
