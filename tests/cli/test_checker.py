"""`personae checker`: train, test, adopt, and what a user can get wrong."""

import json
import re

import pytest
from typer.testing import CliRunner

from personae.cli import app


def run(*arguments: object):
    return CliRunner().invoke(app, ["checker", *map(str, arguments)])


def nli(path, pairs: int = 60, label: str = "entailment"):
    rows = [{"premise": f"i am number {at} .", "hypothesis": f"{at} it is .", "label": label} for at in range(pairs)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_training_prints_held_out_accuracy_and_confusion(tmp_path):
    file = nli(tmp_path / "mine.jsonl")
    result = run("train", "--nli", file, "--conversations", 3, "--steps", 2, "--out", tmp_path / "checker")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    for name in ("unseen_combinations", "unseen_values", "mine"):
        told = re.compile(rf"{name}: accuracy [01]\.\d+ \[[01]\.\d+–[01]\.\d+\] on \d+ pairs")
        at = next(number for number, line in enumerate(lines) if told.match(line))
        assert lines[at + 2].split()[-3:] == ["entails", "neutral", "contradicts"]
        assert [line.split()[0] for line in lines[at + 4 : at + 7]] == ["entails", "neutral", "contradicts"]
    about = json.loads((tmp_path / "checker" / "checker.json").read_text())
    assert [each.get("corpus", each.get("file")) for each in about["data"]] == ["interview", "mine.jsonl"]
    assert str(tmp_path) not in json.dumps(about)


def test_a_file_alone_is_enough(tmp_path):
    file = nli(tmp_path / "mine.jsonl", label="0")
    arguments = ("--label", "0=neutral", "--conversations", 0, "--steps", 2, "--out", tmp_path / "c", "--json")
    result = run("train", "--nli", file, *arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["held_out"].keys() == {"mine"}


def test_testing_on_files_and_on_interview(tiny_checker, tmp_path):
    file = nli(tmp_path / "mine.jsonl")
    with file.open("a") as more:
        more.write('{"premise": "a", "hypothesis": "b", "label": "-"}\n')
    result = run("test", tiny_checker, "--data", file)
    assert result.exit_code == 0, result.output
    assert f"{file}: accuracy" in result.stdout
    assert "1 pairs without an agreed label are left out" in result.stdout
    assert "held-out accuracy" in result.stdout
    tested = json.loads(run("test", tiny_checker, "--json").stdout)["tested"]
    assert tested.keys() == {"unseen_combinations", "unseen_values"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "--out", "OUT", "--nli", "none.jsonl"), "no such file"),
        (("train", "--out", "OUT", "--nli", "FILE"), 'unknown label "maybe"'),
        (("train", "--out", "OUT", "--conversations", "0"), "give --nli FILE"),
        (("train", "--out", "OUT", "--conversations", "-1"), "0 or more"),
        (("train", "--out", "OUT", "--conversations", "2", "--steps", "0"), "1 step or more"),
        (("train", "--out", "FULL"), "something else"),
        (("train", "--out", "OUT", "--label", "x"), "--label x"),
        (("test", "OUT"), "is no checker"),
        (("test", "CHECKER", "--data", "FILE"), "FILE:1: unknown label"),
        (("adopt", "OUT", "--out", "OUT"), "no sequence classifier"),
    ],
)
def test_what_a_user_can_get_wrong(tmp_path, tiny_checker, arguments, said):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    file = nli(tmp_path / "file.jsonl", label="maybe")
    names = {"OUT": tmp_path / "out", "FULL": tmp_path / "full", "FILE": file, "CHECKER": tiny_checker}
    result = run(*(names.get(each, each) for each in arguments))
    assert result.exit_code == 2, result.output
    assert said.replace("FILE:", f"{file}:") in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
