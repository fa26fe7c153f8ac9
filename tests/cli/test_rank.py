"""`personae rank`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from personae.cli import app

DATA = """1 your persona: i bake .
2 your persona: i am tall .
3 what do you do ?\ti bake bread .\t\tno idea .|we ski .|i bake bread .
4 do you ski ?\tno , i am tall .\t\twe ski .|yes .|no , i am tall .
1 your persona: i sing .
2 hello !\thi , i sing .\t\tgood night .|yes .|hi , i sing .
"""
BARE = "1 your persona: i bake .\n2 hi !\thello .\n3 so ?\tyes .\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.txt"
    path.write_text(DATA)
    return path


def run(*arguments: object):
    return CliRunner().invoke(app, ["rank", *map(str, arguments)])


def test_a_ranker_stands_beside_the_floors(data):
    result = run("tfidf", "--data", data)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "3 examples of 2 conversations" in lines[0]
    rows = [line.split()[0] for line in lines[7:11]]
    assert rows == ["tfidf", "chance", "tfidf:last", "tfidf:persona"]
    assert lines[-1].startswith("hits1|n:3|conv:2|candidates:3|ties:expected|")
    assert "|ranker:tfidf|" in lines[-1]


def test_one_that_learns_is_trained_and_kept(data, tmp_path):
    kept = tmp_path / "results" / "kv.json"
    options = ("--train", data, "--style", "convai2", "--epochs", 2, "--seed", 3)
    result = run("kv-memory", "--data", data, *options, "--record", kept, "--about", "A trial.", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(kept.read_text())
    assert record["about"] == "A trial."
    assert record["training"]["path"] == ["data.txt"]
    assert record["training"]["style"] == "convai2"
    assert record["ranker"] == {"name": "kv-memory", "epochs": 2, "lr": 0.01, "batch": 256, "seed": 3, "pairs": 3}
    assert "|ranker:kv-memory|epochs:2|" in record["model"]["hits1"]["signature"]
    assert record["unseen_personas"]["seen_share"] == 1
    assert str(tmp_path) not in kept.read_text()
    assert json.loads(result.stdout)["model"] == record["model"]


def test_personae_that_the_ranker_does_not_know_stand_apart(data, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text(DATA.split("1 your persona: i sing", maxsplit=1)[0])
    result = run("kv-memory", "--data", data, "--train", known, "--epochs", 1)
    assert result.exit_code == 0, result.output
    assert "66.7% of the examples have a persona that the ranker was trained on" in result.stdout
    apart = result.stdout[result.stdout.index("the 1 other examples") :].splitlines()
    assert apart[4].split()[0] == "kv-memory"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("tfidf",), "give --data FILE"),
        (("tfidff", "--data", "{data}"), "Did you mean 'tfidf'?"),
        (("kv-memory", "--data", "{data}"), "the ranker 'kv-memory' learns: give --train FILE"),
        (("tfidf", "--data", "{data}", "--train", "{data}"), "learns nothing: leave out --train"),
        (("likelihood", "--data", "{data}"), "personae evaluate RUN --data FILE --candidates likelihood"),
        (("tfidf", "--data", "{data}", "--epochs", "2"), "for a ranker that learns"),
        (("tfidf", "--data", "{bare}"), "2 of 2 examples have no candidates to rank"),
        (("tfidf", "--data", "{data}", "--limit", "0"), "limit=0"),
        (("tfidf", "--data", "{data}", "--record", "x.json"), "--record and --about go together"),
        (("kv-memory", "--data", "{data}", "--train", "{data}", "--epochs", "-1"), "epochs=-1"),
        (("kv-memory", "--data", "{data}", "--train", "{data}", "--style", "convai"), "Did you mean 'convai2'?"),
        (("kv-memory", "--data", "{data}", "--train", "none.txt"), "no such file: none.txt"),
    ],
)
def test_errors_are_one_line(data, tmp_path, arguments, line):
    bare = tmp_path / "bare.txt"
    bare.write_text(BARE)
    result = run(*(each.format(data=data, bare=bare) for each in arguments))
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
