"""What the commands that talk share: their options, the persona file, the bot."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.errors import UserError, nearest

if TYPE_CHECKING:
    from personae.chat import Bot, Chat
    from personae.consistency import Checker
    from personae.decoding import Decoding
    from personae.runs import Run

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="Decoding settings: decoding.sample=true", show_default=False),
]
PersonaFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The persona: UTF-8 text, one sentence a line.", show_default=False),
]
SayAs = Annotated[
    list[str] | None,
    typer.Option(metavar="SENTENCE", help="A sentence of the persona, instead of a file; may be repeated."),
]
ExplainFlag = Annotated[bool, typer.Option("--explain", help="Show the share of each source in every word.")]
Precision = Annotated[str, typer.Option(help="fp32, or bf16: faster replies on hardware that has it.")]
CheckerFolder = Annotated[
    Path | None,
    typer.Option("--checker", metavar="DIR", help="Check replies against the persona: see `personae checker`."),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Makes sampled replies repeatable.")]


def read_persona(path: Path) -> list[str]:
    """The sentences of a persona file. Raises ``UserError`` for a missing, empty or binary one."""
    from personae.data.files import read_text

    return [line.strip() for line in read_text(path) if line.strip()]


def given_persona(file: Path | None, sentences: Sequence[str] | None) -> list[str] | None:
    """The persona that the options name; None where they name none."""
    if file is not None and sentences:
        raise UserError("--persona and --say-as both give a persona: use one of them")
    if file is not None:
        return read_persona(file)
    return list(sentences) if sentences else None


def read_decoding(run: "Run", overrides: Sequence[str]) -> "Decoding":
    """The run's decoding settings with ``overrides``; any other key is a ``UserError``."""
    from personae.recipe import read_recipe

    known = [f"decoding.{name}" for name in run.recipe().as_dict()["decoding"]]
    for override in overrides:
        key = override.partition("=")[0]
        if not key.startswith("decoding."):
            raise UserError(
                f"'{override}': only decoding settings can be changed here.{nearest(f'decoding.{key}', known)}"
            )
    return read_recipe(run.recipe_file, overrides).decoding


def open_chat(folder: Path, overrides: Sequence[str], precision: str) -> "Chat":
    """The model of a run, with its decoding settings changed as asked."""
    from personae.chat import Chat
    from personae.runs import Run

    decoding = read_decoding(Run(folder), overrides)
    chat = Chat.load(folder, precision)
    chat.decoding = decoding
    return chat


def open_checker(folder: Path | None) -> "Checker | None":
    """The checker in ``folder``, if one is named."""
    from personae.cli.quiet import quiet

    if folder is None:
        return None
    with quiet():
        from personae.consistency import Checker

        return Checker.load(folder)


def trust(checker: "Checker") -> str:
    """How often a checker is right on what it was not trained on."""
    known = [f"{accuracy(found)} of {name}" for name, found in checker.held_out.items()]
    return "held-out " + "; ".join(known) if known else "never tested"


def accuracy(found: Mapping[str, Any]) -> str:
    """``accuracy 0.982 [0.977–0.987] on 929 pairs (always the commonest label: 0.427)``."""
    interval = found["interval"]
    bounds = f" [{interval[0]:.3f}–{interval[1]:.3f}]" if interval else ""
    floor = f"always the commonest label: {found['most_common']:.3f}"
    return f"accuracy {found['accuracy']:.3f}{bounds} on {found['pairs']} pairs ({floor})"


def cut_tokens(bot: "Bot") -> int:
    """How many tokens of personae the replies so far had to leave out."""
    return bot.chat.packer.cuts.tokens.get("persona", 0)


def warn_of_cut(bot: "Bot") -> None:
    """Say that the persona does not fit the model."""
    budget = bot.chat.packer.budgets["persona"]
    print(f"personae: warning: the persona is over {budget} tokens: its end is left out", file=sys.stderr)
