"""`personae evaluate`."""

import json

import pytest
from typer.testing import CliRunner

from personae.cli import app
from personae.cli.evaluate import default_folder
from personae.cli.scores import cell
from personae.metrics import Score


def run(*arguments: object):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


@pytest.fixture
def questions(tiny_run):
    return tiny_run / "data" / "unseen_values.jsonl"


def test_model_and_floors_stand_in_one_table(tiny_run, questions, tmp_path):
    result = run(tiny_run, "--data", questions, "--limit", 6, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "6 examples of 2 conversations" in lines[0]
    words = next(at for at, line in enumerate(lines) if line.split()[:2] == ["f1", "bleu"])
    rows = {line.split()[0] for line in lines[words + 2 : words + 9]}
    floors = {"constant", "constant:convai2", "constant:fluent", "copy_last", "copy_persona", "retrieval"}
    assert rows == {"model", *floors}
    assert any(line.startswith("human") or line.startswith(" human") for line in lines)
    assert "persona_accuracy" in result.stdout
    assert "f1|n:6|conv:2|" in result.stdout
    assert str(tmp_path / "scores.json") in lines[-2]
    assert (tmp_path / "predictions.jsonl").is_file()


def test_json_is_the_content_of_the_file(tiny_run, questions, tmp_path):
    result = run(tiny_run, "decoding.beams=2", "--data", questions, "--limit", 3, "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads((tmp_path / "scores.json").read_text())
    assert printed["decoding"]["beams"] == 2


def test_published_numbers_stand_apart_from_measured_ones(tiny_run, questions, tmp_path):
    options = ["--data", questions, "--limit", 3, "--out", tmp_path]
    result = run(tiny_run, *options, "--published", "convai2")
    assert result.exit_code == 0, result.output
    measured, _, block = result.stdout.partition("PUBLISHED NUMBERS on convai2")
    assert "none of them was measured here" in block
    assert "14.03" in block and "14.03" not in measured
    assert "model" not in block
    printed = json.loads(run(tiny_run, *options, "--published", "convai2", "--json").stdout)
    assert printed.pop("published")[0]["paper"]
    assert printed == json.loads((tmp_path / "scores.json").read_text())
    assert "no published numbers on 'convai'" in run(tiny_run, *options, "--published", "convai").stderr


def test_the_first_examples_go_to_a_folder_of_their_own(tmp_path):
    assert default_folder(tmp_path, [tmp_path / "a.txt"], None) == tmp_path / "evaluation" / "a"
    assert default_folder(tmp_path, [tmp_path / "a.txt"], 5) == tmp_path / "evaluation" / "a-first-5"


def test_examples_with_unseen_personas_stand_apart(tiny_run, tmp_path, questions):
    mixed = tmp_path / "mixed.jsonl"
    known = (tiny_run / "data" / "train.jsonl").read_text().splitlines()[0]
    mixed.write_text(f"{known}\n{questions.read_text()}")
    result = run(tiny_run, "--data", mixed, "--limit", 6, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    apart = json.loads((tmp_path / "out" / "scores.json").read_text())["unseen_personas"]
    assert 0 < apart["examples"] < 6
    assert f"the {apart['examples']} other examples" in result.stdout
    assert apart["scores"].keys() >= {"model", "constant:convai2"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "give --data FILE"),
        (("--data", "none.jsonl"), "no such file: none.jsonl"),
        (("train.lr=1", "--data", "x"), "only decoding settings can be changed"),
        (("beams=3", "--data", "x"), "Did you mean 'decoding.beams'?"),
        (("decoding.beam=3", "--data", "x"), "Did you mean 'decoding.beams'?"),
        (("--data", "x", "--metrics", "f2"), "Did you mean 'f1'?"),
        (("--data", "x", "--metrics", ","), "--metrics names none"),
        (("--data", "x", "--metrics", "convai2_perplexity"), "--dictionary FILE go together"),
        (("--data", "x", "--dictionary", "words.txt"), "--dictionary FILE go together"),
        (("--data", "x", "--tolerance", "0.1"), "--tolerance is for convai2_perplexity"),
    ],
)
def test_errors_are_one_line(tiny_run, arguments, line):
    result = run(tiny_run, *arguments)
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_run_is_one_line(tmp_path):
    result = run(tmp_path, "--data", "x")
    assert result.exit_code == 2
    assert "is no run" in result.stderr


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (None, "-"),
        (Score(22.98123, "s", (22.612, 23.0)), "22.98 [22.6–23.0]"),
        (Score(0.25, "s", (0.07, 0.5)), "0.2500 [0.070–0.500]"),
        (Score(1234.56, "s", (1200.4, 1300.0)), "1,235 [1,200–1,300]"),
        (Score(0.0, "s"), "0.0000"),
    ],
)
def test_a_score_is_shown_with_its_interval(score, text):
    assert cell(score) == text


def test_a_result_to_keep_names_no_folder(tmp_path, tiny_run):
    kept = tmp_path / "results" / "interview" / "tiny.json"
    data = tiny_run / "data" / "valid.jsonl"
    options = ["--data", str(data), "--out", str(tmp_path / "out"), "--record", str(kept), "--about", "A trial."]
    result = CliRunner().invoke(app, ["evaluate", str(tiny_run), *options])
    assert result.exit_code == 0, result.output
    record = json.loads(kept.read_text())
    assert record["about"] == "A trial."
    assert record["model"]["f1"]["signature"]
    assert record["training"]["steps"] == 2
    assert record["recipe"]["model"]["fusion"]
    assert str(tmp_path.anchor + tiny_run.parts[1]) not in kept.read_text()


def test_a_result_is_not_kept_without_a_word_on_it(tmp_path, tiny_run):
    data = tiny_run / "data" / "valid.jsonl"
    result = CliRunner().invoke(app, ["evaluate", str(tiny_run), "--data", str(data), "--record", str(tmp_path / "a")])
    assert result.exit_code == 2
    assert "--about" in result.stderr


def test_some_metrics_are_measured_only_if_named(tiny_run, questions, tmp_path):
    words = tmp_path / "words.txt"
    made = CliRunner().invoke(app, ["data", "dictionary", str(tiny_run / "data" / "train.jsonl"), "--out", str(words)])
    assert made.exit_code == 0, made.output
    named = ["--metrics", "paa_teacher_forced_macro_f1,convai2_perplexity", "--dictionary", words, "--tolerance", 0.2]
    result = run(tiny_run, "--data", questions, "--limit", 3, "--out", tmp_path, *named)
    assert result.exit_code == 0, result.output
    assert f"|dictionary:{made.stdout.split('dictionary:')[1].strip()}|" in result.stdout
    assert "nats_per_token" not in result.stdout
    model = json.loads((tmp_path / "scores.json").read_text())["model"]
    assert model.keys() >= {"paa_teacher_forced_macro_f1", "convai2_perplexity", "f1", "nats_per_token"}
    assert "decoding" not in model["convai2_perplexity"]["signature"]
    plain = run(tiny_run, "--data", questions, "--limit", 3, "--out", tmp_path, "--metrics", "f1")
    assert plain.exit_code == 0, plain.output
    assert "convai2_perplexity" not in json.loads((tmp_path / "scores.json").read_text())["model"]


def test_a_metric_that_the_data_lack_is_refused_at_once(tiny_run, tmp_path):
    data = tmp_path / "plain.txt"
    data.write_text("1 your persona: i bake .\n2 hi !\thello there .\n")
    result = run(tiny_run, "--data", data, "--metrics", "persona_accuracy", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "--metrics persona_accuracy: the data lack" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_checker_scores_model_human_and_floors_and_tells_its_accuracy(tiny_run, tiny_checker, questions, tmp_path):
    result = run(tiny_run, "--data", questions, "--limit", 6, "--out", tmp_path, "--checker", tiny_checker)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("agreement with the persona"))
    rows = [line.split()[0] for line in lines[start + 4 : start + 12]]
    assert rows[0] == "model"
    assert {"human", "constant:convai2", "copy_last", "copy_persona"} <= set(rows)
    assert any("checker: held-out accuracy 0." in line for line in lines)
    found = json.loads((tmp_path / "scores.json").read_text())
    for row in (found["model"], *found["floors"].values()):
        assert "|held_out:unseen=0." in row["c_score"]["signature"]
    assert "|floor:human|" in found["floors"]["human"]["c_score"]["signature"]
    assert "|decoding:greedy" in found["model"]["c_score"]["signature"]


def test_the_human_row_is_the_gold_replies(tiny_checker, questions):
    from personae.consistency import Checker
    from personae.data.load import load
    from personae.evaluation.judge import judge
    from personae.evaluation.predictions import Said, make_reply
    from personae.evaluation.scores import Candidate
    from personae.metrics import Metric

    checker, dialogues = Checker.load(tiny_checker), load([questions]).dialogues[:8]
    replies = [make_reply(each, Said("x", 1.0, 1)) for each in dialogues]
    metric = Metric.build("c_score", judge=checker)
    judged = judge(dialogues, Candidate(replies, {}), None, {}, further={"c_score": metric})
    asked = [(each.sources["persona"], each.sources["context"][-1], [each.response]) for each in dialogues]
    summed = [checker.c_scores(*each)[0] for each in asked]
    assert judged.floors["human"]["c_score"].value == pytest.approx(sum(summed) / len(dialogues))


def test_without_a_checker_there_is_no_c_score(tiny_run, questions, tmp_path):
    run(tiny_run, "--data", questions, "--limit", 3, "--out", tmp_path)
    found = json.loads((tmp_path / "scores.json").read_text())
    assert "c_score" not in found["model"]
