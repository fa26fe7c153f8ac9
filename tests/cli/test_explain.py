"""`personae explain`."""

import json

import pytest
from typer.testing import CliRunner

from personae.chat import Bot
from personae.cli import app

PERSONA = ("--say-as", "i have a dog named rex .", "--say-as", "i am a baker .")
HELLO = "hi , do you have any pets ?"
TALK = (*PERSONA, "--context", "hi .", "--context", "hello .", "--context", HELLO)


def run(*arguments: object):
    return CliRunner().invoke(app, ["explain", *map(str, arguments)])


@pytest.fixture
def questions(tiny_run):
    return tiny_run / "data" / "unseen_values.jsonl"


def explained(*arguments: object) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_given_reply_is_explained_text_by_text(tiny_run):
    result = run(tiny_run, *TALK, "--reply", "yes , a dog named rex .")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert "persona | context" in lines[0]
    assert [word.partition("[")[0] for word in lines[1].split()] == ["yes", ",", "a", "dog", "named", "rex", "."]
    assert any(line.startswith("persona 1") and line.endswith(PERSONA[1]) for line in lines)
    assert any(line.startswith("persona 2") and line.endswith(PERSONA[3]) for line in lines)
    assert any(line.startswith("context 2 (self)") for line in lines)
    assert any(line.startswith("context 3 (partner)") and line.endswith(HELLO) for line in lines)
    assert "not why it said something" in lines[-1]
    assert "persona: also in the prompt" in result.stdout


def test_the_models_own_reply_without_one(tiny_run):
    found = explained(tiny_run, *PERSONA, "--context", HELLO)
    assert found["reply"] == Bot.load(tiny_run, persona=[PERSONA[1], PERSONA[3]]).say(HELLO)
    assert [text["source"] for text in found["texts"]] == ["persona", "persona", "context"]
    for name in ("persona", "context"):
        parts = sum(text["share"] for text in found["texts"] if text["source"] == name)
        assert parts + found["marks"][name] == pytest.approx(found["shares"][name], abs=1e-5)


def test_an_example_of_a_data_file(tiny_run, questions):
    gold = explained(tiny_run, "--data", questions, "--number", 2, "--gold")
    record = json.loads(questions.read_text().splitlines()[0])
    assert gold["reply"] == record["turns"][3]["text"]
    assert [text["text"] for text in gold["texts"] if text["source"] == "persona"] == record["persona"]
    own = explained(tiny_run, "--data", questions, "--number", 2)
    assert own["reply"] != gold["reply"]
    assert [text["text"] for text in own["texts"]] == [text["text"] for text in gold["texts"]]


def test_a_page_is_written(tiny_run, tmp_path):
    page = tmp_path / "pages" / "why.html"
    result = run(tiny_run, *TALK, "--reply", "<b>yes</b>", "--html", page)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == str(page)
    assert "&lt;b&gt;yes&lt;/b&gt;" in page.read_text()


def test_scores_stand_beside_chance(tiny_run, questions, tmp_path):
    kept = tmp_path / "results" / "evidence.json"
    options = ("--score", "--data", questions, "--limit", 10, "--record", kept, "--about", "A trial.")
    result = run(tiny_run, *options)
    assert result.exit_code == 0, result.output
    assert "of 10 gold replies have known evidence" in result.stdout
    starts = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
    assert starts.count("all") == starts.count("chance") == 2
    assert "question_first:" in result.stdout
    record = json.loads(kept.read_text())
    assert record["about"] == "A trial."
    assert record["evidence"]["all"]["evidence_accuracy_attention"]["signature"]
    assert record["data"]["path"] == ["unseen_values.jsonl"]
    assert record["training"]["steps"] == 2
    assert str(tmp_path.anchor + tiny_run.parts[1]) not in kept.read_text()
    assert (
        "chance"
        in json.loads(run(tiny_run, "--score", "--data", questions, "--limit", 10, "--json").stdout)["evidence"]
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "give --context TEXT, or --data FILE"),
        (PERSONA, "give --context TEXT, or --data FILE"),
        (("--context", HELLO), "the persona has no sentence"),
        ((*PERSONA, "--context", " "), "the message is empty"),
        ((*TALK, "--reply", " "), "the reply is empty"),
        ((*TALK, "--reply", "dog " * 600), "shorten it"),
        ((*TALK, "--number", 2), "--number: does nothing"),
        ((*TALK, "--gold"), "--gold: does nothing"),
        ((*TALK, "--limit", 2), "--limit: does nothing"),
        ((*TALK, "--record", "a"), "--record: does nothing"),
        ((*TALK, "--reply", "yes", "--seed", 1), "--seed: does nothing"),
        ((*TALK, "--reply", "yes", "--seed", 0), "--seed: does nothing"),
        ((*TALK, "--number", 0), "--number: does nothing"),
        (("decoding.beams=2", *TALK, "--reply", "yes"), "KEY=VALUE: does nothing"),
        (("decoding.beam=2", *TALK), "Did you mean 'decoding.beams'?"),
        (("--data", "none.jsonl"), "no such file: none.jsonl"),
        (("--data", "none.jsonl", *PERSONA), "--say-as: does nothing"),
        (("--data", "DATA", "--number", 0), "examples 1 to"),
        (("--data", "DATA", "--number", 9999), "examples 1 to"),
        (("--data", "DATA", "--gold", "--reply", "a"), "--reply with --gold"),
        (("--score",), "give --data FILE"),
        (("--score", "--data", "DATA", "--reply", "yes"), "--reply: does nothing for --score"),
        (("--score", "--data", "DATA", "--html", "a"), "--html: does nothing for --score"),
        (("--score", "--data", "DATA", "--precision", "bf16"), "--precision: does nothing for --score"),
        (("--score", "--data", "DATA", "--limit", 0), "at least 1"),
        (("--score", "--data", "DATA", "--record", "a"), "--about"),
    ],
)
def test_what_does_nothing_or_cannot_be_is_one_line(tiny_run, questions, arguments, line):
    result = run(tiny_run, *(questions if each == "DATA" else each for each in arguments))
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_no_run_is_one_line(tmp_path):
    for arguments in (TALK, ("--score", "--data", "x")):
        result = run(tmp_path, *arguments)
        assert result.exit_code == 2
        assert "is no run" in result.stderr
