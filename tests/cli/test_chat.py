"""`personae chat`: from a pipe, and in a terminal that is played."""

import io
from collections.abc import Iterator
from typing import ClassVar

import pytest
from rich.console import Console
from typer.testing import CliRunner

from personae.chat import Bot, Chat, Turn
from personae.cli import app
from personae.cli.chat import Session, ask_persona
from personae.cli.colours import COLOURS, Painter, printable
from personae.errors import UserError
from personae.evidence import Evidence, Piece

HELLO = "hi , do you have any pets ?"
PERSONA = ["i have a dog named rex .", "i am a baker ."]


@pytest.fixture(scope="module")
def chat(tiny_run) -> Chat:
    return Chat.load(tiny_run)


@pytest.fixture
def bot(chat) -> Bot:
    return Bot(chat, PERSONA)


def pipe(tiny_run, text: str | bytes, *arguments: str):
    command = ["chat", str(tiny_run), "--say-as", PERSONA[0], "--say-as", PERSONA[1], *arguments]
    return CliRunner().invoke(app, list(map(str, command)), input=text)


def play(monkeypatch, *lines: str) -> None:
    """Type ``lines``, then Ctrl-D."""
    typed: Iterator[str] = iter(lines)

    def read(prompt: str = "") -> str:
        line = next(typed, None)
        if line is None:
            raise EOFError
        return line

    monkeypatch.setattr("builtins.input", read)


def test_a_pipe_gets_one_reply_a_line_and_nothing_else(tiny_run, bot):
    result = pipe(tiny_run, f"{HELLO}\n\nand your job ?\n")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [bot.say(HELLO), bot.say("and your job ?")]


def test_a_pipe_gets_shares_in_brackets(tiny_run):
    lines = pipe(tiny_run, HELLO, "--explain").stdout.splitlines()
    assert "in brackets" in lines[0]
    assert all("[" in word for word in lines[1].split())


def test_a_pipe_knows_the_commands(tiny_run, bot):
    result = pipe(tiny_run, f"{HELLO}\n/reset\n{HELLO}\n/quit\n{HELLO}\n")
    assert [line for line in result.stdout.splitlines() if "anew" not in line] == [bot.say(HELLO)] * 2


@pytest.mark.parametrize(("text", "words"), [("/foo\n", "unknown command '/foo'"), (b"\xff\xfe\n", "not UTF-8")])
def test_a_pipe_with_nonsense_ends_with_one_line(tiny_run, text, words):
    result = pipe(tiny_run, text)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_pipe_is_not_asked_for_a_persona(tiny_run):
    result = CliRunner().invoke(app, ["chat", str(tiny_run)], input=HELLO)
    assert result.exit_code == 2
    assert "--persona FILE" in result.stderr


def test_sentences_are_asked_for(monkeypatch):
    play(monkeypatch, " i bake . ", "i have a dog .", "", "never read")
    assert ask_persona(interactive=True) == ["i bake .", "i have a dog ."]


def test_a_terminal_is_told_of_an_error_and_goes_on(bot, monkeypatch, capsys):
    play(monkeypatch, "/perso", "/persona none.txt", "", HELLO)
    Session(bot, explain=False, interactive=True).talk()
    out = capsys.readouterr().out
    assert "Did you mean '/persona'" in out
    assert "no such file" in out
    assert f"bot: {bot.history[-1].text}\n" in out


def test_commands(bot, monkeypatch, capsys, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("i am a pilot .\n")
    play(monkeypatch, "/help", HELLO, "/explain", "/explain", "/persona", f"/persona {other}", "/quit", HELLO)
    Session(bot, explain=False, interactive=True).talk()
    out = capsys.readouterr().out
    assert all(name in out for name in ("/persona", "/explain", "/reset", "/quit"))
    assert "in brackets" in out
    assert out.index("rex") < out.index("pilot")
    assert bot.persona == ("i am a pilot .",)
    assert bot.history == []


def test_why_explains_the_last_reply(bot, monkeypatch, capsys):
    play(monkeypatch, "/why", HELLO, "/why", "/reset", "/why")
    Session(bot, explain=False, interactive=True).talk()
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert out.count("there is no reply to explain yet") == 2
    assert "by leaving it out" in out
    for at, sentence in enumerate(PERSONA, 1):
        assert any(line.startswith(f"persona {at} ") and line.endswith(sentence) for line in lines)
    assert any(line.startswith("context 1 (partner)") and line.endswith(HELLO) for line in lines)


def test_a_pipe_can_ask_why(tiny_run):
    result = pipe(tiny_run, f"{HELLO}\n/why\n")
    assert result.exit_code == 0, result.output
    assert "context 1 (partner)" in result.stdout
    assert pipe(tiny_run, "/why\n").exit_code == 2


def test_asking_why_is_no_use_of_the_persona(bot, monkeypatch, capsys):
    """What is packed again to explain must not count as cut once more."""
    bot.persona = ("i like dogs and cats . " * 60, "i am a pilot .")
    play(monkeypatch, HELLO, "/why")
    Session(bot, explain=False, interactive=True).talk()
    captured = capsys.readouterr()
    assert captured.err.count("its end is left out") == 1
    assert "[cut off, never read] i am a pilot ." in captured.out


def test_a_persona_that_is_too_long_is_told_once(bot, monkeypatch, capsys):
    bot.persona = ("i like dogs and cats . " * 60,)
    play(monkeypatch, HELLO, HELLO)
    Session(bot, explain=False, interactive=True).talk()
    assert capsys.readouterr().err.count("its end is left out") == 1


def test_ctrl_c_ends_the_reply_and_not_the_conversation(bot, monkeypatch, capsys):
    reply = bot.chat.reply

    def interrupted(*arguments):
        pieces = reply(*arguments)
        yield next(pieces)
        raise KeyboardInterrupt

    monkeypatch.setattr(bot.chat, "reply", interrupted)
    play(monkeypatch, HELLO, "/help")
    Session(bot, explain=False, interactive=True).talk()
    out = capsys.readouterr().out
    assert "[stopped]" in out
    assert "leave, as does Ctrl-D" in out
    assert bot.history[0] == Turn("partner", HELLO)
    monkeypatch.undo()


def test_ctrl_c_at_the_prompt_ends_the_conversation(bot, monkeypatch):
    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Session(bot, explain=False, interactive=True).talk()


def terminal(width: int = 80, **options) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=width, **options)


def word(text: str, persona: float, context: float) -> Piece:
    return Piece(text, Evidence({"persona": persona, "context": context}))


def triplet(painter: Painter, persona: float, context: float) -> tuple[int, ...]:
    return tuple(painter.style({"persona": persona, "context": context}).color.get_truecolor())


def test_a_word_of_one_source_has_its_colour_and_others_lie_between():
    painter = Painter(terminal(), ("persona", "context"))
    assert triplet(painter, 1.0, 0.0) == COLOURS["orange"]
    assert triplet(painter, 0.0, 1.0) == COLOURS["blue"]
    reds = [triplet(painter, share, 1 - share)[0] for share in (0.0, 0.3, 0.5, 0.7, 1.0)]
    assert reds == sorted(reds)
    assert painter.style({"persona": 0.0, "context": 0.0}).dim


def test_the_legend_names_sources_and_colours():
    assert Painter(terminal(), ("persona", "context")).legend().plain.count("█") == 24
    named = Painter(terminal(), ("persona", "context", "knowledge")).legend().plain
    assert named == "persona (orange)  context (blue)  knowledge (green)"


def test_lines_break_between_words():
    console = terminal(width=20)
    Painter(console).say([Piece("one"), Piece(" two"), Piece(" threeandmore"), Piece(" four")], head="bot: ")
    plain = console.file.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert plain == "bot: one two\n     threeandmore\n     four\n"


def test_without_colours_a_terminal_gets_brackets():
    console = terminal(no_color=True)
    Painter(console, ("persona", "context")).say([word("rex", 0.714, 0.286), word(" is", 0.0, 0.0)])
    assert console.file.getvalue() == "rex[71|29] is[0|0]\n"


def test_control_characters_never_reach_the_terminal():
    assert printable("a\x1b[31mb\n") == "a [31mb "


def test_a_model_without_fusion_has_nothing_to_explain(bot, monkeypatch):
    monkeypatch.setattr(bot.chat.model, "modules", lambda: iter(()))
    with pytest.raises(UserError, match="fuses no sources"):
        bot.explain(HELLO)


class Strict:
    """A checker that every reply contradicts in the first sentence."""

    held_out: ClassVar = {"some": {"accuracy": 0.9, "interval": (0.8, 0.95), "pairs": 50, "most_common": 0.4}}

    def contradicted(self, persona, question, reply):
        assert question == HELLO
        assert reply
        return [persona[0]]


def test_a_contradiction_is_flagged_with_its_sentence(bot, monkeypatch, capsys):
    play(monkeypatch, HELLO, "/reset")
    Session(bot, explain=False, interactive=True, checker=Strict()).talk()
    lines = capsys.readouterr().out.splitlines()
    assert "checker: held-out accuracy 0.900 [0.800–0.950] on 50 pairs" in lines[0]
    at = lines.index(f'⚠ contradicts: "{PERSONA[0]}"')
    assert lines[at - 1].startswith("bot: ")


def test_in_a_pipe_a_contradiction_is_plain_text(bot, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{HELLO}\n"))
    Session(bot, explain=False, interactive=False, checker=Strict()).talk()
    assert capsys.readouterr().out.splitlines() == [bot.history[-1].text, f'contradicts: "{PERSONA[0]}"']


def test_the_best_of_several_samples(tiny_run, tiny_checker):
    result = pipe(tiny_run, f"{HELLO}\n", "--checker", tiny_checker, "--samples", "3", "--seed", "1")
    assert result.exit_code == 0, result.output
    again = pipe(tiny_run, f"{HELLO}\n", "--checker", tiny_checker, "--samples", "3", "--seed", "1")
    assert result.stdout == again.stdout
    assert result.stdout.strip()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--samples", "3"), "give --checker DIR"),
        (("--checker", "nowhere"), "nowhere is no checker"),
        (("--checker", "DIR", "--samples", "1"), "choose from 2 or more"),
        (("--checker", "DIR", "--samples", "3", "decoding.beams=2"), "as many beams"),
    ],
)
def test_options_of_the_checker_that_lack_something(tiny_run, tiny_checker, arguments, said):
    given = [str(tiny_checker) if each == "DIR" else each for each in arguments]
    result = pipe(tiny_run, HELLO, *given)
    assert result.exit_code == 2
    assert said in result.stderr
