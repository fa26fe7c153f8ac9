"""`personae reply`, and what every talking command refuses."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from personae.chat import Bot
from personae.cli import app

HELLO = "hi , do you have any pets ?"


def run(*arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def persona(tmp_path):
    path = tmp_path / "persona.txt"
    path.write_text("\ufeffi have a dog named rex .\n\n  i am a baker .\n", encoding="utf-8")
    return path


def test_one_reply_a_line_in_one_conversation(tiny_run, persona):
    result = run("reply", tiny_run, "--persona", persona, "--say", HELLO, "--say", "and your job ?")
    bot = Bot.load(tiny_run, persona=["i have a dog named rex .", "i am a baker ."])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [bot.say(HELLO), bot.say("and your job ?")]
    assert result.stderr == ""


def test_json(tiny_run, persona):
    result = run("reply", tiny_run, "--persona", persona, "--say", HELLO, "--explain", "--json")
    printed = json.loads(result.stdout)
    assert printed["persona"] == ["i have a dog named rex .", "i am a baker ."]
    assert printed["decoding"]["max_tokens"] == 8
    (turn,) = printed["turns"]
    assert turn["say"] == HELLO
    assert [word["text"] for word in turn["words"]] == turn["reply"].split()
    assert all(sum(word["shares"].values()) == pytest.approx(1) for word in turn["words"])


def test_explained_words_have_their_shares_in_brackets(tiny_run, persona):
    result = run("reply", tiny_run, "--persona", persona, "--say", HELLO, "--explain")
    legend, reply = result.stdout.splitlines()
    assert "persona | context" in legend
    assert all(word.endswith("]") and "|" in word for word in reply.split())
    assert "\x1b" not in result.stdout


def test_a_seed_repeats_a_sample(tiny_run):
    asked = ["reply", tiny_run, "decoding.sample=true", "--say-as", "i bake .", "--say", HELLO]
    one, same, other = (run(*asked, "--seed", seed).stdout for seed in (1, 1, 2))
    assert one == same != other


def test_a_long_persona_is_told(tiny_run):
    result = run("reply", tiny_run, "--say-as", "i like dogs and cats . " * 60, "--say", HELLO)
    assert result.exit_code == 0
    assert result.stderr == "personae: warning: the persona is over 224 tokens: its end is left out\n"


def refused(result, words: str) -> None:
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["reply", "chat"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x7fELF\0\1", "binary"),
        (b"\xff\n", "UTF-8"),
    ],
)
def test_a_persona_file_that_is_none(tiny_run, tmp_path, command, content, words):
    path = tmp_path / "persona.txt"
    if content is not None:
        path.write_bytes(content)
    said = ["--say", HELLO] if command == "reply" else []
    refused(run(command, tiny_run, "--persona", path, *said), words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to say"),
        (["--say", " "], "nothing to say"),
        (["--say", HELLO], "the persona has no sentence"),
        (["--say", HELLO, "--say-as", " "], "the persona has no sentence"),
        (["--say", HELLO, "--say-as", "i bake .", "decoding.beam=2"], "Did you mean 'decoding.beams'"),
        (["--say", HELLO, "--say-as", "i bake .", "beams=2"], "Did you mean 'decoding.beams'"),
        (["--say", HELLO, "--say-as", "i bake .", "decoding.top_k=5"], "sampling"),
        (["--say", HELLO, "--say-as", "i bake .", "decoding.copies=2", "decoding.beams=2"], "copies"),
        (["--say", HELLO, "--say-as", "i bake .", "decoding.max_tokens=9999"], "does not fit"),
        (["--say", HELLO, "--say-as", "i bake .", "--persona", "a.txt"], "use one of them"),
    ],
)
def test_bad_arguments(tiny_run, arguments, words):
    refused(run("reply", tiny_run, *arguments), words)


@pytest.mark.parametrize("command", ["reply", "chat"])
def test_a_folder_that_is_no_run(tmp_path, command):
    said = ["--say", HELLO] if command == "reply" else []
    refused(run(command, tmp_path, "--say-as", "i bake .", *said), "is no run")


@pytest.mark.parametrize("command", ["reply", "chat"])
def test_a_half_written_checkpoint(tiny_run, tmp_path, command):
    copy = shutil.copytree(tiny_run, tmp_path / "copy")
    weights = copy / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    said = ["--say", HELLO] if command == "reply" else []
    refused(run(command, copy, "--say-as", "i bake .", *said), "half-written")
