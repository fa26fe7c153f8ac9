"""`personae compare`: options, tables, errors; what is trained is told in tests/compare/test_runs.py."""

import json
import re
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

import personae.compare
from personae.cli import app, compare, show
from personae.compare import make_plan
from personae.metrics.floors import Floor
from tests.compare.made import finish, questions, recipe_file, replies

RIGHT = {"paa": [True, False] * 3, "sum": [False, True] * 3}


def run(*arguments: object):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture
def data(tmp_path):
    return questions(tmp_path)


@pytest.fixture
def recipes(tmp_path):
    return [recipe_file(tmp_path, name) for name in RIGHT]


@pytest.fixture
def finished(tmp_path, recipes, data):
    """Arguments of a comparison of two recipes and two seeds whose runs are finished."""
    options = ["train.steps=2", "--out", tmp_path / "out", "--data", data, "--seeds", 2]
    plan = make_plan([*map(str, recipes)], tmp_path / "out", overrides=["train.steps=2"], seeds=2, data=[data])
    for cell in plan.cells:
        finish(cell, replies(data, RIGHT[cell.name]))
    return [*recipes, *options]


def test_recipes_floors_and_differences_in_tables(finished, tmp_path):
    result = run(*finished)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "asked: 12 examples of 6 conversations"
    rows = [line.split()[0] for line in lines[4:12]]
    assert rows == ["paa", "sum", *(name for name in Floor.names() if name != "human")]
    assert "inside the noise" in result.stdout
    assert "nats_per_byte ↓" in result.stdout
    assert "|mean:paa,seeds=0+1|" in result.stdout
    assert "4 of 4 runs are finished already" in result.stderr
    for name in ("table.json", "table.md", "f1.png", "persona_accuracy.svg"):
        assert str(tmp_path / "out" / name) in lines
        assert (tmp_path / "out" / name).is_file()


def test_published_numbers_stand_apart_from_measured_ones(finished, tmp_path):
    measured, _, block = run(*finished, "--published", "convai2").stdout.partition("PUBLISHED NUMBERS on convai2")
    assert "14.03" in block and "14.03" not in measured
    printed = json.loads(run(*finished, "--published", "convai2", "--json").stdout)
    assert printed.pop("published")
    assert printed == json.loads((tmp_path / "out" / "table.json").read_text())


def test_json_is_the_content_of_the_file(finished, tmp_path):
    printed = json.loads(run(*finished, "--json", "--metrics", "f1").stdout)
    assert printed == json.loads((tmp_path / "out" / "table.json").read_text())
    assert printed["overrides"] == ["train.steps=2"]
    assert printed["data"]["asked"]["means"]["paa"]["persona_accuracy"]["value"] == 0.5
    assert sorted(path.name for path in (tmp_path / "out").glob("*.png")) == ["f1-by-cost.png", "f1.png"]


def test_metrics_and_the_recipe_to_compare_with_can_be_chosen(finished):
    result = run(*finished, "--metrics", "bleu, dist1", "--against", "sum")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[2].split()[:4] == ["bleu", "↑", "dist1", "↑"]
    assert "asked: difference to sum" in result.stdout


def test_rows_can_be_sorted(finished, tmp_path):
    """The recipe that is given last answers everything right."""
    better = recipe_file(tmp_path, "mean")
    options = {"overrides": ["train.steps=2"], "seeds": 2, "data": [tmp_path / "asked.jsonl"]}
    for cell in make_plan([str(better)], tmp_path / "out", **options).cells:
        finish(cell, replies(tmp_path / "asked.jsonl", [True] * 6))
    lines = run(*finished, better, "--sort", "f1").stdout.splitlines()
    assert lines[4].split()[0] == "mean"
    assert {line.split()[0] for line in lines[5:7]} == {"paa", "sum"}


def test_a_narrow_terminal_gets_several_tables(finished, monkeypatch):
    monkeypatch.setattr(show, "console", lambda: Console(file=sys.stdout, width=100, force_terminal=True))
    lines = run(*finished).stdout.splitlines()
    tables = lines[: next(at for at, line in enumerate(lines) if line.startswith("value ["))]
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in tables) <= 100
    assert sum("asked: 12 examples" in line for line in tables) > 1
    assert any("\x1b[1m" in line and "[" in line for line in tables if "sum" in line or "paa" in line)


def test_all_of_the_data_beside_a_fraction_is_not_trained_again(finished, tmp_path):
    plan = make_plan(
        [*map(str, finished[:2])],
        tmp_path / "out",
        overrides=["train.steps=2"],
        seeds=2,
        data=[tmp_path / "asked.jsonl"],
        fractions=[0.5, 1.0],
    )
    for cell in plan.cells:
        if not cell.finished:
            finish(cell, replies(tmp_path / "asked.jsonl", RIGHT[cell.name]))
    result = run(*finished, "--fractions", "0.5,1")
    assert result.exit_code == 0, result.output
    assert "8 of 8 runs are finished already" in result.stderr
    assert "at 0.5: trained on 0.5 of the conversations" in result.stdout
    assert (tmp_path / "out" / "f1-by-fraction.png").is_file()


def test_a_result_to_keep_names_no_folder(finished, tmp_path):
    kept = tmp_path / "results" / "asked.json"
    result = run(*finished, "--record", kept, "--about", "A trial.")
    assert result.exit_code == 0, result.output
    assert json.loads(kept.read_text())["about"] == "A trial."
    assert str(tmp_path) not in kept.read_text()
    assert result.stdout.splitlines()[-1] == str(kept)


def test_a_run_that_fails_is_one_line_below_the_others_and_exit_code_1(finished, tmp_path, data):
    bad = recipe_file(tmp_path, "smu")
    result = run(*finished, bad)
    assert result.exit_code == 1
    errors = [line for line in result.stderr.splitlines() if "error" in line]
    assert len(errors) == 2
    assert errors[0].startswith("personae: error: smu seed 0: unknown fusion 'smu'. Did you mean 'sum'?")
    assert result.stdout.startswith("asked: 12 examples")
    assert "smu seed 1 failed: unknown fusion" in (tmp_path / "out" / "table.md").read_text()


def test_where_every_run_fails_there_is_no_table(tmp_path, data):
    result = run(recipe_file(tmp_path, "smu"), "--out", tmp_path / "out", "--data", data)
    assert (result.exit_code, result.stdout) == (1, "")
    assert not (tmp_path / "out" / "table.json").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["interview/pa"], "Did you mean 'interview/paa'"),
        (["interview/paa", "train.stps=3"], "Did you mean 'train.steps'"),
        (["train.steps=3"], "name two recipes"),
        (["interview/paa", "--data", "none.jsonl"], "no such file: none.jsonl"),
        (["interview/paa", "--metrics", "f2"], "Did you mean 'f1'"),
        (["interview/paa", "--metrics", ","], "--metrics names none"),
        (["interview/paa", "--jobs", "0"], "at least 1"),
        (["interview/paa", "--engine", "rya"], "Did you mean 'ray'? Choose one of: local, ray"),
        (["interview/paa", "--sort", "f2"], "Did you mean 'f1'"),
        (["interview/paa", "--fractions", "a,b"], "--fractions a,b: give shares with commas"),
        (["interview/paa", "--fractions", ""], "give shares with commas"),
        (["interview/paa", "--fractions", "10"], "--fractions 10: give shares above 0"),
        (["interview/paa", "--fractions", "0.2", "--sample", "x"], "Choose one of: longest-contexts, random"),
        (["interview/paa", "--record", "a.json"], "--about"),
        (["interview/paa", "--against", "sum"], "not among the recipes"),
    ],
)
def test_errors_are_one_line_before_anything_is_written(tmp_path, arguments, line):
    result = run(*arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_launcher_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = run("interview/paa", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "--jobs" in result.stderr


def test_an_interruption_says_how_to_go_on(finished, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(personae.compare, "run_cells", interrupted)
    result = run(*finished)
    assert result.exit_code == 130
    assert "stopped with 4 of 4 runs finished; the same command goes on." in result.stderr


def test_a_file_with_an_equals_sign_is_a_recipe(tmp_path):
    path = recipe_file(tmp_path, "sum").rename(tmp_path / "a=b.yaml")
    given = ["interview/paa", str(path), "train.steps=2"]
    assert compare.split(given) == (given[:2], given[2:])


def test_a_bar_in_a_terminal(monkeypatch, capsys, tmp_path):
    (cell,) = make_plan(["interview/paa"], tmp_path / "out").cells
    monkeypatch.setenv("FORCE_COLOR", "1")
    with compare.progress() as (hear, tell):
        hear("begins")
        tell(cell)("training", 3, 10)
    shown = capsys.readouterr().err
    assert "begins" in shown
    assert "interview/paa seed 0: training" in shown
