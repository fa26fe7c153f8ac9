"""Training from another run's weights."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from personae.errors import UserError
from personae.recipe import load_recipe
from personae.runs import Run
from personae.training import train
from personae.training.checkpoints import newest_checkpoint
from personae.training.trainer import DialogueTrainer
from tests.training.small import digest, small_recipe

HEAD = ("model.options.candidate_head=binary", "train.candidates=3")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    train(small_recipe(), folder)
    return folder


def further(first: Path, *overrides: str) -> Any:
    """The run's own recipe, one more step and a head."""
    given = (f"train.start_from={first}", "train.steps=1", *HEAD, *overrides)
    return load_recipe(first / "recipe.yaml", given)


def test_weights_and_words_are_the_first_runs_and_the_head_is_new(first: Path, tmp_path: Path) -> None:
    # So small a step leaves all weights where they were.
    report = train(further(first, "train.lr=1e-12"), tmp_path / "more")
    one, other = Run(first), Run(tmp_path / "more")
    ours, theirs = other.model().state_dict(), one.model().state_dict()
    assert ours.keys() - theirs.keys() == {"candidate_head.score.weight", "candidate_head.score.bias"}
    for key, value in theirs.items():
        torch.testing.assert_close(ours[key], value)
    assert one.tokenizer().get_vocab() == other.tokenizer().get_vocab()
    assert report["weights"][0] == "missing: 2 candidate_head.score.bias, candidate_head.score.weight"
    assert other.model().ranks


def test_the_first_run_stays_as_it_was(first: Path, tmp_path: Path) -> None:
    before = {path: digest(path) for path in first.rglob("*") if path.is_file()}
    train(further(first), tmp_path / "more")
    assert {path: digest(path) for path in first.rglob("*") if path.is_file()} == before


def test_it_learns_from_where_the_first_run_stood(first: Path, tmp_path: Path) -> None:
    last = json.loads((first / "report.json").read_text())["best"]["eval_loss"]
    report = train(further(first, "train.steps=4", "train.evaluate_every=2"), tmp_path / "more")
    assert report["best"]["eval_loss"] < last
    assert report["best"]["eval_choice_accuracy"] >= 0


def test_interrupted_and_resumed_it_is_the_same_run(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = further(first, "train.steps=6", "train.save_every=3", "train.evaluate_every=6")
    train(recipe, tmp_path / "whole")
    step, steps = DialogueTrainer.training_step, []

    def stopping(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(steps) == 4:
            raise KeyboardInterrupt
        steps.append(1)
        return step(self, *args, **kwargs)

    monkeypatch.setattr(DialogueTrainer, "training_step", stopping)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "broken")
    monkeypatch.setattr(DialogueTrainer, "training_step", step)
    assert newest_checkpoint(tmp_path / "broken" / "checkpoints") is not None
    train(recipe, tmp_path / "broken", resume=True)
    weights = [tmp_path / name / "model" / "model.safetensors" for name in ("whole", "broken")]
    assert digest(weights[0]) == digest(weights[1])


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (("train.start_from=nowhere",), "nowhere is no run"),
        (("model.options.decoder.n_layer=1",), "is another model: .* do not fit, first decoder.h.1"),
        (("model.weights=gpt2",), "model.weights=null"),
        (("text.tokenizer={other}",), "was trained with other words: leave out text.tokenizer"),
    ],
)
def test_what_a_user_can_get_wrong(first: Path, tmp_path: Path, overrides: tuple[str, ...], line: str) -> None:
    other = tmp_path / "other"
    shutil.copytree(first / "tokenizer", other)
    text = (other / "tokenizer.json").read_text()
    (other / "tokenizer.json").write_text(text.replace('"[SEP]"', '"[PES]"'))
    with pytest.raises(UserError, match=line):
        train(further(first, *(each.format(other=other) for each in overrides)), tmp_path / "more")
    assert not (tmp_path / "more" / "recipe.yaml").exists()
