"""Comparisons that train: two recipes, two seeds, two steps each."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from personae.compare import Plan, engine, make_comparison, make_plan, run_cells, work
from personae.evaluation import read_predictions
from personae.metrics import Metric
from personae.training import train
from tests.compare.made import recipe_file
from tests.conftest import TINY

LITTLE = (*TINY, "train.save_every=1", "train.evaluate_every=1", "train.log_every=1")


def plan_of(folder: Path, *fusions: str, seeds: int = 1, overrides=LITTLE) -> Plan:
    recipes = [str(recipe_file(folder, fusion)) for fusion in fusions]
    return make_plan(recipes, folder / "out", overrides=overrides, seeds=seeds, limit=8)


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> tuple[Plan, list[str]]:
    """A finished comparison and what was heard of it."""
    heard: list[str] = []
    plan = plan_of(tmp_path_factory.mktemp("compared"), "paa", "sum", seeds=2)
    assert run_cells(plan.cells, hear=heard.append) == {}
    return plan, heard


def files(plan: Plan) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in plan.out.rglob("*") if path.is_file()}


def test_a_cell_is_a_run_with_scores_and_a_log(done):
    plan, heard = done
    for cell in plan.cells:
        assert cell.finished
        assert cell.run.model().num_parameters() > 0
        assert json.loads((cell.folder / "recipe.yaml").with_name("report.json").read_text())["steps"] == 2
        names = sorted(path.name for path in (cell.folder / "scores").iterdir())
        assert names == ["unseen_combinations-first-8.json", "unseen_values-first-8.json"]
        assert "training 2/2" in cell.log.read_text()
        assert json.loads(cell.notes_file.read_text())["resumed"] is False
    assert heard[0] == "paa seed 0: begins"
    assert heard[1].startswith("paa seed 0: done in ")
    assert len(heard) == 8


def test_the_table_has_the_numbers_of_the_runs_replies(done):
    plan, _ = done
    sheet = make_comparison(plan, {}).sheets["unseen_values-first-8"]
    for name, means in sheet.means.items():
        folders = [cell.folder for cell in plan.cells if cell.name == name]
        said = [
            read_predictions(each / "evaluation" / "unseen_values-first-8" / "predictions.jsonl") for each in folders
        ]
        for metric in ("nats_per_byte", "f1", "dist1"):
            values = [Metric.get(metric)().measure(replies).value for replies in said]
            assert means[metric].value == pytest.approx(np.mean(values))
            assert means[metric].deviation == pytest.approx(np.std(values, ddof=1))
    nats = {name: means["nats_per_byte"].value for name, means in sheet.means.items()}
    assert sheet.differences["sum"]["nats_per_byte"].value == pytest.approx(nats["sum"] - nats["paa"])
    assert nats["sum"] != nats["paa"]


def test_what_is_finished_is_not_done_again(done):
    plan, _ = done
    before, heard = files(plan), []
    assert run_cells(plan.cells, hear=heard.append) == {}
    assert files(plan) == before
    assert heard == ["4 of 4 runs are finished already"]


def test_more_data_is_scored_without_training_again(done, tmp_path):
    plan, _ = done
    shutil.copytree(plan.out, tmp_path / "out")
    recipes = [str(recipe_file(tmp_path, "paa"))]
    again = make_plan(recipes, tmp_path / "out", overrides=LITTLE, limit=3)
    (cell,) = again.cells
    report = cell.run.report_file.stat().st_mtime_ns
    assert not cell.finished
    assert run_cells(again.cells) == {}
    assert cell.run.report_file.stat().st_mtime_ns == report
    assert len(list((cell.folder / "scores").iterdir())) == 4


def test_an_interrupted_cell_goes_on_to_the_same_end(done, tmp_path):
    plan = plan_of(tmp_path, "paa")
    (cell,) = plan.cells

    def stop(step, of, values):
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(cell.recipe, cell.folder, tell=stop)
    assert not cell.finished
    assert run_cells(plan.cells) == {}
    assert json.loads(cell.notes_file.read_text())["resumed"] is True
    assert make_comparison(plan, {}).trained["paa"].seconds is None
    weights = [each.run.model_folder / "model.safetensors" for each in (cell, done[0].cells[0])]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_an_interruption_keeps_what_is_there(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    plan = plan_of(tmp_path, "paa", "sum")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(work, "evaluate", interrupted)
        run_cells(plan.cells)
    report = plan.cells[0].run.report_file
    written = report.stat().st_mtime_ns
    assert run_cells(plan.cells[:1]) == {}
    assert report.stat().st_mtime_ns == written


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_cell_that_fails_is_one_line_and_the_others_go_on(tmp_path, jobs):
    plan = plan_of(tmp_path, "smu", "sum")
    heard: list[str] = []
    failed = run_cells(plan.cells, jobs, heard.append)
    assert failed.keys() == {"smu seed 0"}
    assert failed["smu seed 0"].startswith("unknown fusion 'smu'. Did you mean 'sum'?")
    assert "\n" not in failed["smu seed 0"]
    assert [cell.finished for cell in plan.cells] == [False, True]
    assert any(line.startswith("smu seed 0: failed") for line in heard)
    assert list(make_comparison(plan, failed).trained) == ["sum"]


def test_an_override_that_only_one_recipe_takes_fails_there_alone(tmp_path):
    plan = plan_of(tmp_path, "sum", "paa", overrides=[*LITTLE, "model.fusion.tau=0.5"])
    failed = run_cells(plan.cells)
    assert failed.keys() == {"sum seed 0"}
    assert "'sum' has no option 'tau'" in failed["sum seed 0"]


def test_a_defect_leaves_its_traceback_in_the_log(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("a\nb")

    monkeypatch.setattr(work, "train", broken)
    plan = plan_of(tmp_path, "sum")
    assert run_cells(plan.cells) == {"sum seed 0": "RuntimeError: a b"}
    assert "Traceback" in plan.cells[0].log.read_text()


def test_a_process_that_was_killed_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "CHILD", "import os; os.kill(os.getpid(), 9)")
    plan = plan_of(tmp_path, "sum", "paa")
    failed = run_cells(plan.cells, jobs=2)
    assert failed["sum seed 0"] == f"its process ended with status -9: see {plan.cells[0].log}"
    assert len(failed) == 2


def test_processes_share_the_cores(tmp_path, monkeypatch):
    code = "import os, sys; print('personae: error:', os.environ['OMP_NUM_THREADS']); sys.exit(1)"
    monkeypatch.setattr(engine, "CHILD", code)
    monkeypatch.setattr(engine, "cores", lambda: 8)
    plan = plan_of(tmp_path, "sum", "paa")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert set(run_cells(plan.cells, jobs=2).values()) == {"4"}
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert set(run_cells(plan.cells, jobs=5).values()) == {"3"}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_children_end_with_their_parent_and_can_go_on(tmp_path, how):
    recipes = [str(recipe_file(tmp_path, fusion)) for fusion in ("paa", "sum")]
    long = [*LITTLE, "train.steps=3000", "train.epochs=5000", "train.save_every=5"]
    code = "from personae.cli import main; main()"
    command = [sys.executable, "-c", code, "compare", *recipes, *long, "--out", str(tmp_path / "out"), "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        wait_until(lambda: len(list(tmp_path.glob("out/*/seed0/checkpoints/*/complete"))) >= 2, 120)
        assert len(working_on(tmp_path)) == 3
        process.send_signal(how)
        said = process.communicate(timeout=60)[1]
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "stopped with 0 of 2 runs finished" in said
        assert "Traceback" not in said
    wait_until(lambda: not working_on(tmp_path), 20)
    plan = make_plan(recipes, tmp_path / "out", overrides=long)
    assert all(work.newest_checkpoint(cell.run.checkpoints) for cell in plan.cells)


def wait_until(true, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def working_on(folder: Path) -> list[int]:
    """Processes other than this one that name ``folder``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            named = str(folder).encode() in path.read_bytes()
        except OSError:
            continue
        if named and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found
