"""A run that was killed and resumed is the run that was not, bit for bit."""

import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from transformers import Trainer

from personae.errors import UserError
from personae.runs import Run
from personae.training import train
from personae.training.checkpoints import newest_checkpoint
from personae.training.trainer import DialogueTrainer
from tests.training.small import digest, logged, small_recipe

ROOT = Path(__file__).resolve().parents[2]


class Stopped(BaseException):
    """What stands for a killed process where the test needs an exact moment."""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    return folder, train(small_recipe(), folder)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stopped in step 10, with whole checkpoints of steps 6 and 9."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    stop_at(folder, 10)
    return folder


@pytest.fixture
def broken(stopped: Path, tmp_path: Path) -> Path:
    """A copy of the stopped run, to be resumed."""
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def stop_at(folder: Path, last: int, resume: bool = False) -> None:
    def tell(step: int, of: int, values: dict[str, float]) -> None:
        if step == last:
            raise Stopped

    with pytest.raises(Stopped):
        train(small_recipe(), folder, resume=resume, tell=tell)


def assert_same_run(folder: Path, report: dict[str, Any], unbroken: tuple[Path, dict[str, Any]], after: int) -> None:
    """Same log lines after ``after`` and the same files."""
    other, expected = unbroken
    assert logged(report) == logged(expected)
    assert [line["step"] for line in logged(report, after) if "loss" in line] == list(range(after + 1, 13))
    assert report["best"] == expected["best"]
    for file in ("model/model.safetensors", "checkpoints/checkpoint-12/model.safetensors"):
        assert digest(folder / file) == digest(other / file), file


def test_a_stop_and_a_resume_change_nothing(broken: Path, unbroken: tuple[Path, dict[str, Any]]) -> None:
    assert newest_checkpoint(Run(broken).checkpoints).name == "checkpoint-9"
    assert_same_run(broken, train(small_recipe(), broken, resume=True), unbroken, after=9)


def test_the_comparison_can_fail(unbroken: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Another seed gives other losses and weights: the files hold what training decided."""
    other = train(small_recipe("train.seed=1"), tmp_path / "run")
    assert logged(other)[-1] != logged(unbroken[1])[-1]
    file = "checkpoints/checkpoint-12/model.safetensors"
    assert digest(tmp_path / "run" / file) != digest(unbroken[0] / file)


def test_twice_stopped_in_the_middle_of_epochs(tmp_path: Path, unbroken: tuple[Path, dict[str, Any]]) -> None:
    folder = tmp_path / "run"
    stop_at(folder, 4)
    stop_at(folder, 8, resume=True)
    assert_same_run(folder, train(small_recipe(), folder, resume=True), unbroken, after=6)


def test_a_stop_before_the_first_checkpoint(tmp_path: Path, unbroken: tuple[Path, dict[str, Any]]) -> None:
    folder = tmp_path / "run"
    stop_at(folder, 2)
    assert newest_checkpoint(Run(folder).checkpoints) is None
    assert_same_run(folder, train(small_recipe(), folder, resume=True), unbroken, after=0)


@pytest.mark.parametrize("part", ["_save_optimizer_and_scheduler", "_save_rng_state"])
def test_a_stop_inside_a_checkpoint(
    part: str, tmp_path: Path, unbroken: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"

    def stop(self: DialogueTrainer, place: str) -> None:
        if place.endswith("checkpoint-6"):
            raise Stopped
        whole(self, place)

    whole = getattr(Trainer, part)
    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(DialogueTrainer, part, stop)
        train(small_recipe(), folder)
    assert (folder / "checkpoints" / "checkpoint-6" / "model.safetensors").is_file()
    assert newest_checkpoint(Run(folder).checkpoints).name == "checkpoint-3"
    assert_same_run(folder, train(small_recipe(), folder, resume=True), unbroken, after=3)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"]
)
@pytest.mark.parametrize("damage", ["gone", "truncated", "empty"])
def test_a_damaged_newest_checkpoint_is_passed_over(name: str, damage: str, broken: Path) -> None:
    """Whatever the crash left of the newest one: a disk may lose what was written last, marks or not."""
    file = broken / "checkpoints" / "checkpoint-9" / name
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: 0 if damage == "empty" else -7])
    assert newest_checkpoint(Run(broken).checkpoints).name == "checkpoint-6"


def test_a_run_resumes_over_a_damaged_checkpoint(broken: Path, unbroken: tuple[Path, dict[str, Any]]) -> None:
    file = broken / "checkpoints" / "checkpoint-9" / "optimizer.pt"
    file.write_bytes(file.read_bytes()[:-100])
    assert_same_run(broken, train(small_recipe(), broken, resume=True), unbroken, after=6)


def test_a_finished_run_resumes_to_the_same_end(tmp_path: Path, unbroken: tuple[Path, dict[str, Any]]) -> None:
    folder = Path(shutil.copytree(unbroken[0], tmp_path / "run"))
    report = train(small_recipe(), folder, resume=True)
    assert report["best"] == unbroken[1]["best"]
    assert digest(folder / "model" / "model.safetensors") == digest(unbroken[0] / "model" / "model.safetensors")


def test_losses_between_logs_are_not_lost(tmp_path: Path) -> None:
    """A log line is the mean over its steps, also where a resume falls between two of them."""
    options = ("train.log_every=5", "train.steps=10")
    expected = train(small_recipe(*options), tmp_path / "whole")

    def tell(step: int, of: int, values: dict[str, float]) -> None:
        if step == 8:
            raise Stopped

    with pytest.raises(Stopped):
        train(small_recipe(*options), tmp_path / "run", tell=tell)
    assert newest_checkpoint(Run(tmp_path / "run").checkpoints).name == "checkpoint-6"
    report = train(small_recipe(*options), tmp_path / "run", resume=True)
    assert logged(report) == logged(expected)


def test_resuming_with_another_recipe_is_the_users_error(broken: Path) -> None:
    with pytest.raises(UserError, match=r"another model\.fusion, train\.lr: resume with the same recipe"):
        train(small_recipe("train.lr=1", "model.fusion.tau=0.5"), broken, resume=True)


def test_resuming_with_other_data_is_the_users_error(broken: Path) -> None:
    """The corpus is generated again at a resume; here the run began with another."""
    began = broken / "data.json"
    began.write_text(began.read_text().replace(': "', ': "0'))
    with pytest.raises(UserError, match="data changed"):
        train(small_recipe(), broken, resume=True)


def test_resuming_what_is_no_run_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no run \(no recipe\.yaml\)"):
        train(small_recipe(), tmp_path, resume=True)


def test_a_run_is_not_written_over(broken: Path) -> None:
    before = {path: digest(path) for path in broken.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=r"already holds a run: .* --resume"):
        train(small_recipe(), broken)
    assert {path: digest(path) for path in broken.rglob("*") if path.is_file()} == before


SLOW_RUN = """
    import sys, time
    from pathlib import Path
    from personae.training import train
    from tests.training.small import small_recipe

    train(small_recipe(), Path(sys.argv[1]), tell=lambda *_: time.sleep(0.2))
"""


def test_a_killed_process(tmp_path: Path, unbroken: tuple[Path, dict[str, Any]]) -> None:
    """SIGKILL at a random moment after the first checkpoint."""
    folder, delay = tmp_path / "run", random.uniform(0, 1.8)
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(SLOW_RUN), str(folder)], cwd=ROOT) as process:
        while newest_checkpoint(folder / "checkpoints") is None:
            assert process.poll() is None, "the run ended before its first checkpoint"
            time.sleep(0.01)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    after = int(newest_checkpoint(folder / "checkpoints").name.split("-")[1])
    assert after < 12, f"the kill after {delay:.3f} s came too late to show anything"
    assert_same_run(folder, train(small_recipe(), folder, resume=True), unbroken, after=after)
