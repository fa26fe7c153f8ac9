"""The fusion's own learning rate: which parameters have it, and that it lasts through schedule and resume."""

from pathlib import Path
from typing import Any

import pytest
import torch

from personae.errors import UserError
from personae.fusion import Fusion
from personae.training import train
from personae.training.trainer import DialogueTrainer, fusion_parameters, split_rate
from tests.helpers import tiny_model
from tests.training.small import digest, logged, small_recipe

RATE = ("train.fusion_rate=5", "train.weight_decay=0.01", "train.schedule=linear", "train.warmup=0.25")


def names_of(model: torch.nn.Module, parameters: Any) -> set[str]:
    wanted = {id(one) for one in parameters}
    return {name for name, one in model.named_parameters() if id(one) in wanted}


@pytest.mark.parametrize(("fusion", "count"), [("paa", 4), ("linear", 4), ("hierarchical", 12), ("sum", 0)])
def test_the_parameters_of_a_fusion_are_those_of_its_module_in_every_layer(fusion: str, count: int) -> None:
    model = tiny_model(fusion=fusion)
    found = names_of(model, fusion_parameters(model))
    assert found == {name for name, _ in model.named_parameters() if ".fusion." in name}
    assert len(found) == count


def test_chosen_parameters_get_a_group_of_their_own_and_keep_all_else() -> None:
    one, two, three = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))
    groups = [{"params": [one, two], "weight_decay": 0.1}, {"params": [three], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.5, eps=1e-3)
    split_rate(optimizer, {two}, 4.0)
    found = [
        ([id(each) for each in group["params"]], group["lr"], group["weight_decay"]) for group in optimizer.param_groups
    ]
    assert found == [([id(one)], 0.5, 0.1), ([id(three)], 0.5, 0.0), ([id(two)], 2.0, 0.1)]
    assert {group["eps"] for group in optimizer.param_groups} == {1e-3}


@pytest.fixture
def optimizers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.nn.Module, torch.optim.Optimizer]]:
    """The optimisers that trainers make, with their models."""
    made: list[tuple[torch.nn.Module, torch.optim.Optimizer]] = []
    create = DialogueTrainer.create_optimizer

    def note(self: DialogueTrainer, *args: Any, **kwargs: Any) -> Any:
        optimizer = create(self, *args, **kwargs)
        made.append((self.model, optimizer))
        return optimizer

    monkeypatch.setattr(DialogueTrainer, "create_optimizer", note)
    return made


def test_a_run_trains_the_fusion_at_its_rate(tmp_path: Path, optimizers: list[Any]) -> None:
    rates: list[tuple[float, float]] = []

    def tell(step: int, of: int, values: dict[str, float]) -> None:
        if "loss" in values:
            model, optimizer = optimizers[0]
            fusion = fusion_parameters(model)
            by_kind: dict[bool, set[float]] = {True: set(), False: set()}
            for group in optimizer.param_groups:
                for one in group["params"]:
                    by_kind[one in fusion].add(group["lr"])
            rates.append((*by_kind[True], *by_kind[False]))

    train(small_recipe(*RATE, "train.steps=6", "train.lr=1e-3"), tmp_path / "run", tell=tell)
    assert len(rates) == 6
    assert len({plain for _, plain in rates}) > 3  # the schedule moves
    for fusion, plain in rates:
        assert fusion == pytest.approx(5 * plain)
    model, optimizer = optimizers[0]
    trained = [one for group in optimizer.param_groups for one in group["params"]]
    assert len(trained) == len({id(one) for one in trained}) == sum(one.requires_grad for one in model.parameters())
    kinds = [module for module in model.modules() if isinstance(module, Fusion)]
    decayed = {id(one) for group in optimizer.param_groups if group["weight_decay"] for one in group["params"]}
    for kind in kinds:
        assert {name for name, one in kind.named_parameters() if id(one) in decayed} == {"gate.weight"}


def test_a_stop_and_a_resume_change_nothing(tmp_path: Path) -> None:
    class Stopped(BaseException):
        pass

    def tell(step: int, of: int, values: dict[str, float]) -> None:
        if step == 8:
            raise Stopped

    whole = train(small_recipe(*RATE), tmp_path / "whole")
    with pytest.raises(Stopped):
        train(small_recipe(*RATE), tmp_path / "run", tell=tell)
    assert logged(train(small_recipe(*RATE), tmp_path / "run", resume=True)) == logged(whole)
    file = "model/model.safetensors"
    assert digest(tmp_path / "run" / file) == digest(tmp_path / "whole" / file)


def test_the_rate_changes_what_is_learnt(tmp_path: Path) -> None:
    few = ("train.steps=2", "train.evaluate_every=2", "model.fusion={name: paa, tau: 0.0}")
    plain = train(small_recipe(*few), tmp_path / "plain")
    times = train(small_recipe(*few, "train.fusion_rate=50"), tmp_path / "times")
    assert plain["history"][0]["loss"] == times["history"][0]["loss"]
    assert plain["last"]["eval_loss"] != times["last"]["eval_loss"]


@pytest.mark.parametrize("rate", ["0", "-1"])
def test_a_rate_of_nothing_is_the_users_error(rate: str) -> None:
    with pytest.raises(UserError, match=rf"train\.fusion_rate={rate}.* should be above 0"):
        small_recipe(f"train.fusion_rate={rate}")
