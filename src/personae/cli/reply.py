"""`personae reply`: replies for scripts."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.colours import Painter
from personae.cli.quiet import quiet
from personae.cli.talking import (
    ExplainFlag,
    Overrides,
    PersonaFile,
    Precision,
    RunFolder,
    SayAs,
    Seed,
    cut_tokens,
    given_persona,
    open_chat,
    warn_of_cut,
)
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.chat import Bot


def reply_command(
    run: RunFolder,
    overrides: Overrides = None,
    say: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="What to say; repeated, a conversation.", show_default=False),
    ] = None,
    persona: PersonaFile = None,
    say_as: SayAs = None,
    explain: ExplainFlag = False,
    seed: Seed = None,
    precision: Precision = "fp32",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say something to a model and print its reply, one a line."""
    if not say or not all(text.strip() for text in say):
        raise UserError("nothing to say: give --say TEXT")
    sentences = given_persona(persona, say_as) or []
    with quiet():
        from personae.chat import Bot

        bot = Bot(open_chat(run, overrides or [], precision), sentences, seed=seed)
        if as_json:
            show.print_json(conversation(bot, say, explain))
        else:
            print_conversation(bot, say, explain)
    if cut_tokens(bot):
        warn_of_cut(bot)


def conversation(bot: "Bot", say: list[str], explain: bool) -> dict[str, Any]:
    """The whole conversation for JSON."""
    from dataclasses import asdict

    turns = [{"say": text, **(bot.explain(text).as_dict() if explain else {"reply": bot.say(text)})} for text in say]
    return {"persona": list(bot.persona), "decoding": asdict(bot.chat.decoding), "seed": bot.seed, "turns": turns}


def print_conversation(bot: "Bot", say: list[str], explain: bool) -> None:
    """Print one reply a line, with ``explain`` below a legend."""
    from personae.evidence import words

    painter = Painter(show.console(), bot.chat.voices if explain else ())
    if explain:
        painter.console.print(painter.legend(), soft_wrap=True)
    for text in say:
        painter.say(words(bot.stream(text, explain)))


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("reply")(reply_command)
