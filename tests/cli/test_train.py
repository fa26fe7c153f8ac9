"""`personae train`: the run, the report, the progress, an interruption."""

import io
import json
import shutil
import warnings
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import personae.training
from personae.cli import app, train
from personae.cli.progress import Progress, clock
from personae.cli.quiet import quiet
from tests.conftest import TINY


def run(*arguments: object):
    return CliRunner().invoke(app, ["train", *map(str, arguments)])


def test_a_run_is_trained_told_and_ready_to_talk(tmp_path):
    folder = tmp_path / "a run"
    result = run("interview/paa", *TINY, "--out", folder)
    assert result.exit_code == 0, result.output
    assert (folder / "model" / "model.safetensors").is_file()
    assert "step 2/2  " in result.stderr
    assert "validation perplexity" in result.stderr
    assert "{" not in result.output
    assert all(word in result.stdout for word in ("steps", "seconds", "parameters", "persona ", "cut to the budgets"))
    assert f"personae chat '{folder}' --explain" in result.stdout
    talk = CliRunner().invoke(app, ["reply", str(folder), "--say-as", "i bake .", "--say", "hi"])
    assert talk.exit_code == 0


def test_json_is_the_report_without_its_history(tmp_path):
    result = run("interview/paa", *TINY, "--out", tmp_path / "run", "--json")
    printed = json.loads(result.stdout)
    assert printed["run"] == str(tmp_path / "run")
    assert printed["steps"] == 2
    assert "history" not in printed


def test_a_folder_with_a_run_is_left_alone(tiny_run):
    before = sorted(path.name for path in tiny_run.rglob("*"))
    result = run("interview/paa", *TINY, "--out", tiny_run)
    assert result.exit_code == 2
    assert "already holds a run" in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in tiny_run.rglob("*")) == before


def test_resuming_with_another_recipe_is_an_error(tiny_run, tmp_path):
    copy = shutil.copytree(tiny_run, tmp_path / "copy")
    result = run("interview/paa", *TINY, "train.lr=1", "--out", copy, "--resume")
    assert result.exit_code == 2
    assert "train.lr" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["interview/pa"], "Did you mean 'interview/paa'"),
        (["interview/paa", "train.stps=3"], "Did you mean 'train.steps'"),
        (["interview/paa", "train.steps"], "key=value"),
        (["interview/paa", "data.generate={corpus: moon}"], "interview"),
        (["interview/paa", "data.generate=null", "data.train=[none.txt]", "data.valid=[none.txt]"], "none.txt"),
        (["interview/paa", *TINY, "model.fusion={name: pa}"], "paa"),
    ],
)
def test_bad_recipes_are_one_line(tmp_path, arguments, words):
    result = run(*arguments, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(recipe, folder, resume, tell):
        tell(7, 10, {"loss": 1.0})
        raise KeyboardInterrupt

    monkeypatch.setattr(personae.training, "train", interrupted)
    result = run("interview/paa", "train.steps=10", "--out", tmp_path / "run")
    assert result.exit_code == 130
    assert "stopped at step 7" in result.stderr
    assert f"personae train interview/paa train.steps=10 --out {tmp_path / 'run'} --resume" in result.stderr


@pytest.mark.parametrize(
    ("recipe", "folder"), [("interview/paa", "runs/interview-paa"), ("my/own.yaml", "runs/own"), ("a.yml", "runs/a")]
)
def test_the_folder_is_named_after_the_recipe(recipe, folder):
    assert train.default_folder(recipe) == Path(folder)


def test_other_processes_of_a_launch_are_silent(tmp_path, monkeypatch):
    report = {"history": []}
    monkeypatch.setattr(personae.training, "train", lambda *_: report)
    monkeypatch.setenv("RANK", "1")
    result = run("interview/paa", "--out", tmp_path / "run")
    assert (result.exit_code, result.output) == (0, "")


def test_a_bar_in_a_terminal():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Progress(console) as progress:
        progress.tell(1, 10, {"loss": 2.0})
        progress.tell(5, 10, {"eval_perplexity": 7.5})
        progress.tell(5, 10, {"train_runtime": 1.0})
    shown = console.file.getvalue()
    assert "5/10" in shown
    assert "loss 2  validation perplexity 7.5" in shown


def test_plain_lines_elsewhere(capsys):
    with Progress(Console(file=io.StringIO())) as progress:
        progress.tell(4, 10, {"loss": 2.0, "grad_norm": 1.0})
        progress.first = (progress.first[0] - 60, 4)
        progress.tell(6, 10, {"loss": 1.5})
        progress.tell(6, 10, {"train_runtime": 1.0})
    first, second = capsys.readouterr().err.splitlines()
    assert first == "step 4/10  loss 2  0:00:00 elapsed"
    assert second == "step 6/10  loss 1.5  0:01:00 elapsed, 0:02:00 left"
    assert clock(3661.4) == "1:01:01"


def test_what_was_cut_in_words():
    cuts = {"dialogues": 1200, "texts_cut": {"context": 30}, "tokens_cut": {"context": 4000}}
    told = train.cuts({"cuts": cuts, "long_replies_left_out": 2})
    assert told == "context: 4,000 tokens, 30 whole texts; 2 long replies left out (of 1,200 dialogues)"
    none = {"dialogues": 5, "texts_cut": {}, "tokens_cut": {}}
    assert train.cuts({"cuts": none, "long_replies_left_out": 0}) == "nothing"


def test_quiet_shows_a_warning_as_one_line(capsys):
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with quiet():
            warnings.warn("closed\n sources", stacklevel=1)
            assert not logging.is_progress_bar_enabled()
    assert capsys.readouterr().err == "personae: warning: closed sources\n"
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
