"""`personae drift`."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from personae.cli import app
from personae.cli.drift import named


def run(*arguments: object):
    return CliRunner().invoke(app, ["drift", *map(str, arguments)])


def test_two_runs_in_the_same_roles(tiny_run, tiny_checker, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_run, other)
    arguments = ("--turns", 3, "--conversations", 2, "--checker", tiny_checker, "--out", tmp_path / "out")
    record = tmp_path / "kept.json"
    result = run(tiny_run, "--against", other, *arguments, "--record", record, "--about", "a test")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("other") >= 5
    assert "word of a checker: held-out accuracy" in result.stdout
    kept = json.loads(record.read_text())
    assert kept["about"] == "a test"
    assert kept["runs"].keys() == {"tiny", "other"}
    assert kept["runs"]["tiny"] == kept["runs"]["other"]
    assert str(tmp_path) not in record.read_text()


def test_runs_are_named_by_what_tells_them_apart(tmp_path):
    assert list(named([tmp_path / "a" / "s0", tmp_path / "b" / "s0"])) == ["a/s0", "b/s0"]
    assert list(named([tmp_path / "a" / "s0", tmp_path / "a" / "s1"])) == ["s0", "s1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("RUN", "--turns", "0"), "--turns 0"),
        (("RUN", "--conversations", "0"), "--conversations 0"),
        (("RUN", "--against", "RUN"), "names a run twice"),
        (("RUN", "--data", "none.jsonl"), "no such file"),
        (("RUN", "--checker", "none"), "none is no checker"),
        (("RUN", "--record", "x.json"), "go together"),
        (("RUN", "decoding.max_tokens=900", "--turns", "1"), "leaves the decoder room"),
        (("RUN", "train.lr=1"), "only decoding settings"),
        (("nowhere",), "nowhere is no run"),
    ],
)
def test_what_a_user_can_get_wrong(tiny_run, tmp_path, arguments, said):
    given = [tiny_run if each == "RUN" else each for each in arguments]
    result = run(*given, "--out", tmp_path / "out")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
