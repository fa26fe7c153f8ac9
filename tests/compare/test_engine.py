"""What starts runs: processes with a GPU each, and a Ray cluster, here in the shape of a stand-in."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from personae.compare import engine, make_plan, run_cells
from personae.compare.engine import DEVICES, Engine, Local
from personae.compare.ray_engine import Ray, work
from personae.errors import UserError
from tests.compare.made import finish, questions, recipe_file, replies


@pytest.fixture
def plan(tmp_path):
    recipes = [str(recipe_file(tmp_path, fusion)) for fusion in ("paa", "sum", "mean")]
    return make_plan(recipes, tmp_path / "out", data=[questions(tmp_path)])


def with_gpus(monkeypatch, count: int, visible: str | None = None) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: count)
    if visible is None:
        monkeypatch.delenv(DEVICES, raising=False)
    else:
        monkeypatch.setenv(DEVICES, visible)


@pytest.mark.parametrize(
    ("count", "visible", "given"),
    [
        (3, None, ["0", "1", "2", "0"]),
        (2, "5,7", ["5", "7", "5", "7"]),
        (2, "GPU-a1, GPU-b2", ["GPU-a1", "GPU-b2", "GPU-a1", "GPU-b2"]),
    ],
)
def test_each_slot_has_a_gpu_to_itself_in_turn(monkeypatch, count, visible, given):
    with_gpus(monkeypatch, count, visible)
    local = Local(4)
    assert [local.environment(slot)[DEVICES] for slot in range(4)] == given


@pytest.mark.parametrize(("count", "visible"), [(0, None), (1, None), (1, "3"), (0, "")])
def test_with_one_device_or_none_nothing_is_chosen(monkeypatch, count, visible):
    with_gpus(monkeypatch, count, visible)
    assert Local(2).environment(1).get(DEVICES) == visible


def test_runs_at_the_same_time_have_different_gpus(plan, monkeypatch):
    """Three runs in two slots: the third gets the device that is free again."""
    with_gpus(monkeypatch, 2)
    code = "import os, sys; print('personae: error:', os.environ['CUDA_VISIBLE_DEVICES']); sys.exit(1)"
    monkeypatch.setattr(engine, "CHILD", code)
    failed = run_cells(plan.cells, jobs=2)
    assert len(failed) == 3
    assert {failed["paa seed 0"], failed["sum seed 0"]} == {"0", "1"}


def test_an_unknown_engine_lists_the_choices(plan):
    with pytest.raises(UserError, match=r"unknown engine 'rya'. Did you mean 'ray'\? Choose one of: local, ray"):
        run_cells(plan.cells, engine="rya")
    assert Engine.names() == ["local", "ray"]


def test_ray_that_is_not_installed_is_said_in_a_line(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"--engine ray needs Ray: pip install 'personae\[ray\]'"):
        run_cells(plan.cells, engine="ray")


class LostError(Exception):
    """What the stand-in raises for a task that is lost."""


class FakeRay(ModuleType):
    """As much of Ray as the engine uses; a task is done when it has been asked after twice."""

    def __init__(self, gpus: float, answer) -> None:
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=LostError)
        self.gpus, self.answer = gpus, answer
        self.needs, self.cancelled, self.asked, self.tasks = {}, [], {}, []

    def init(self, **_) -> None:
        """Nothing to start."""

    def cluster_resources(self):
        return {"CPU": 8.0, **({"GPU": self.gpus} if self.gpus else {})}

    def remote(self, **needs):
        self.needs = needs

        def start(*arguments) -> int:
            self.tasks.append(arguments)
            return len(self.tasks) - 1

        return lambda _: SimpleNamespace(remote=start)

    def wait(self, references, timeout):
        (one,) = references
        self.asked[one] = self.asked.get(one, 0) + 1
        return (references, []) if self.asked[one] > 1 else ([], references)

    def get(self, reference):
        return self.answer(reference)

    def cancel(self, reference, force) -> None:
        self.cancelled.append(reference)


def with_ray(monkeypatch, gpus: float = 0.0, answer=lambda _: None) -> FakeRay:
    ray = FakeRay(gpus, answer)
    monkeypatch.setitem(sys.modules, "ray", ray)
    return ray


def test_tasks_of_ray_and_what_they_say(plan, monkeypatch):
    def answer(task):
        if task == 2:
            raise LostError("worker\ndied")
        return "no space" if task == 1 else None

    ray, heard = with_ray(monkeypatch, answer=answer), []
    failed = run_cells(plan.cells, jobs=2, hear=heard.append, engine="ray")
    assert failed == {"sum seed 0": "no space", "mean seed 0": "Ray lost its task: worker died"}
    assert heard[0].startswith("paa seed 0: begins, see ")
    assert any(line.startswith("paa seed 0: done") for line in heard)
    assert ray.tasks[0][0] == plan.cells[0].as_json()
    assert ray.cancelled == []


def test_a_task_has_a_gpu_where_there_is_one_and_else_a_share_of_the_cores(monkeypatch):
    monkeypatch.setattr("personae.compare.ray_engine.cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    ray = with_ray(monkeypatch)
    Ray(2)
    assert ray.needs == {"num_cpus": 4, "max_calls": 1, "max_retries": 0}
    ray = with_ray(monkeypatch, gpus=4.0)
    Ray(2)
    assert ray.needs == {"num_gpus": 1, "max_calls": 1, "max_retries": 0}


def test_an_interruption_cancels_the_tasks_that_run(plan, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    ray = with_ray(monkeypatch)
    monkeypatch.setattr("personae.compare.pool.time.sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_cells(plan.cells, jobs=2, engine="ray")
    assert ray.cancelled == [0, 1]


def test_a_task_does_the_cell_in_the_folder_of_the_caller(plan, tmp_path, monkeypatch):
    """The cell is finished: nothing is left but to say so."""
    cell = plan.cells[0]
    finish(cell, replies(tmp_path / "asked.jsonl", [True] * 6))
    monkeypatch.chdir("/")
    threads = []
    monkeypatch.setattr("torch.set_num_threads", threads.append)
    assert work(cell.as_json(), str(tmp_path), 3) is None
    assert threads == [3]
