"""`personae analyse`."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from personae.cli import app


def run(*arguments: object):
    return CliRunner().invoke(app, ["analyse", *map(str, arguments)])


@pytest.fixture
def data(tiny_run):
    return tiny_run / "data" / "valid.jsonl"


@pytest.fixture
def predictions(tmp_path):
    """Two models' replies to two turns, of a short and of a long history."""
    for name, said in {"a": ("i bake", "no"), "b": ("no", "no")}.items():
        turns = [{"sources": {"context": ["hi"] * length}, "conversation": f"talk {length}"} for length in (1, 11)]
        lines = [{**turn, "references": ["i bake"], "prediction": one} for turn, one in zip(turns, said, strict=True)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "a.jsonl", tmp_path / "b.jsonl"


def test_gates_of_a_run(tiny_run, data, tmp_path):
    result = run("gates", tiny_run, "--data", data, "--limit", 4, "--example", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    names = ["gates-example.png", "gates-example.svg", "gates.json", "gates.png", "gates.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert "paa: mean weight" in result.stdout
    assert "all closed" in result.stdout
    assert "gates|n:4|" in result.stdout
    found = json.loads((tmp_path / "gates.json").read_text())
    assert found["example"]["example"] == 1
    assert len(found["open_share"]["persona"]) == 2


def test_shares_of_a_run_by_default_beside_it(tiny_run, data, tmp_path):
    copied = tmp_path / "run"
    shutil.copytree(tiny_run, copied)
    result = run("weights", copied, "--data", data, "--limit", 4, "--json")
    assert result.exit_code == 0, result.output
    kept = copied / "analysis" / "valid-first-4" / "weights.json"
    assert json.loads(result.stdout) == json.loads(kept.read_text())
    shares = json.loads(result.stdout)["contribution_shares"]
    assert shares["persona"][0]["value"] + shares["context"][0]["value"] == pytest.approx(1)


def test_wins_by_a_metric(predictions, tmp_path):
    result = run("wins", *predictions, "--by", "f1", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    rows = json.loads((tmp_path / "out" / "wins.json").read_text())["rows"]
    assert rows["short"]["win"]["value"] == 1
    assert rows["long"]["tie"]["value"] == 1
    assert "over 9" in result.stdout
    assert (tmp_path / "out" / "wins.png").is_file()


def test_wins_by_people(predictions, tmp_path):
    judged = tmp_path / "people.csv"
    judged.write_text("id,winner\n0,b\n1,a\n")
    result = run("wins", *predictions, "--scores", judged, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"]["short"]["loss"]["value"] == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("gates", "RUN"), "give --data FILE"),
        (("gates", "RUN", "--data", "DATA", "--limit", 2, "--example", 7), "the examples 0 to 1"),
        (("gates", "nowhere", "--data", "DATA"), "is no run"),
        (("weights", "RUN"), "give --data FILE"),
        (("weights", "RUN", "--limit", 3), "--reader and --limit"),
        (("weights", "RUN", "--data", "none.jsonl"), "no such file"),
        (("wins", "A", "B"), "--by METRIC or --scores FILE"),
        (("wins", "A", "B", "--by", "f2"), "Did you mean 'f1'?"),
        (("wins", "A", "B", "--by", "dist2"), "no value for a single reply"),
        (("wins", "A", "none.jsonl", "--by", "f1"), "no such file"),
        (("wins", "A", "B", "--scores", "none.csv"), "no such file"),
    ],
)
def test_errors_are_one_line(tiny_run, data, predictions, tmp_path, arguments, line):
    places = {"RUN": tiny_run, "DATA": data, "A": predictions[0], "B": predictions[1]}
    result = run(*(places.get(each, each) for each in arguments))
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tiny_run / "analysis").exists()


def test_a_fusion_without_gates_names_the_other_analysis(tiny_run, data, tmp_path):
    copied = tmp_path / "run"
    shutil.copytree(tiny_run, copied)
    recipe = copied / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("name: paa", "name: sum"))
    result = run("gates", copied, "--data", data)
    assert result.exit_code == 2
    assert "fusion 'sum' has no gates: personae analyse weights" in result.stderr
