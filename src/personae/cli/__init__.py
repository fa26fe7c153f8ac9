"""The command line: one file per command, each with `register(app)`, entered in `COMMANDS`."""

from typing import Annotated

import typer

from personae.cli import (
    analyse,
    chat,
    checker,
    compare,
    data,
    demo,
    drift,
    evaluate,
    explain,
    listing,
    rank,
    reply,
    score,
    train,
)
from personae.cli.frame import Frame, print_version

COMMANDS = (demo, train, evaluate, score, rank, compare, analyse, drift, chat, reply, explain, checker, data, listing)

app = typer.Typer(
    cls=Frame,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback()
def personae(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Dialogue models that answer from several sources at once, and show which source spoke."""


for command in COMMANDS:
    command.register(app)


def main() -> None:
    """Run the command line."""
    app()
