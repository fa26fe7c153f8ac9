"""`personae checker`: train, adopt and test the classifier that tells whether replies follow from the persona."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.evaluate import Json, progress
from personae.cli.quiet import quiet
from personae.cli.talking import accuracy, trust
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.consistency import Checker
    from personae.consistency.nli import NliFile
    from personae.consistency.pairs import Pair

app = typer.Typer(no_args_is_help=True, help="A classifier: does a reply follow from a persona sentence?")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a checker.", show_default=False)]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where to write the checker.", show_default=False)]
Names = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LABEL", help="What a label means: 0=entails, 1=neutral, 2=contradicts.", show_default=False
    ),
]
NLI = "JSON Lines of premise, hypothesis and label (SNLI, MNLI, Dialogue NLI); may be repeated."
Nli = Annotated[list[Path] | None, typer.Option(metavar="FILE", help=f"Also train on: {NLI}", show_default=False)]
Data = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help=f"Test on: {NLI} By default on pairs made from interview.", show_default=False),
]


@app.command("train")
def train_command(
    out: Out,
    nli: Nli = None,
    label: Names = None,
    conversations: Annotated[int, typer.Option(metavar="N", help="Of interview, to make pairs from; 0: none.")] = 3000,
    steps: Annotated[int, typer.Option(metavar="N", help="Training steps of 64 pairs.")] = 3000,
    seed: Annotated[int, typer.Option(help="The same seed trains the same checker.")] = 0,
    as_json: Json = False,
) -> None:
    """Train a small checker offline, and say how often it is right on what was held out."""
    from personae.consistency import make_interview, make_source, read_names, read_nli, train_checker

    check_out(out)
    if conversations < 0:
        raise UserError(f"--conversations {conversations}: give 0 or more")
    names = read_names(label or [])
    sources = [make_source(read_nli(path, names)) for path in nli or []]
    if conversations:
        sources.insert(0, make_interview(conversations, seed))
    with quiet(), progress() as tell:
        checker = train_checker(sources, out, steps=steps, seed=seed, tell=tell)
    print_checker(checker, out, as_json)


@app.command("adopt")
def adopt_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder or hub name.", show_default=False)],
    out: Out,
    data: Data = None,
    label: Names = None,
    question: Annotated[bool, typer.Option("--question", help="It reads the question before the reply.")] = False,
    as_json: Json = False,
) -> None:
    """Take a sequence classifier of transformers for a checker, once its labels are known and it was tested."""
    from personae.consistency import adopt_checker, read_names

    check_out(out)
    names = read_names(label or [])
    with quiet():
        checker = adopt_checker(model, names, test_sets(data, names), out, question)
    print_checker(checker, out, as_json)


@app.command("test")
def test_command(folder: Folder, data: Data = None, label: Names = None, as_json: Json = False) -> None:
    """Say how often a checker is right, and what it takes for what."""
    from personae.consistency import Checker, examine_all, read_names

    with quiet():
        checker = Checker.load(folder)
        found = examine_all(checker, test_sets(data, read_names(label or [])))
    if as_json:
        show.print_json({"checker": checker.about, "tested": found})
    else:
        print_sets(found)
        print(f"checker {folder}: {trust(checker)}")


def check_out(out: Path) -> None:
    """Refuse to write over something that is no checker."""
    from personae.consistency.checker import ABOUT

    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / ABOUT).is_file()):
        raise UserError(f"--out {out}: there is something else already; give a new folder")


def test_sets(paths: list[Path] | None, names: Mapping[str, str]) -> "dict[str, list[Pair]]":
    """The pairs of the files, or, without any, those that interview holds out."""
    from personae.consistency import make_interview, read_nli

    if not paths:
        return make_interview(1).held_out
    files = [read_nli(path, names) for path in paths]
    for file in files:
        note_undecided(file)
    return {str(file.path): list(file.pairs) for file in files}


def note_undecided(file: "NliFile") -> None:
    """Say what was left out."""
    if file.undecided:
        print(f"{file.path}: {file.undecided} pairs without an agreed label are left out")


def print_checker(checker: "Checker", out: Path, as_json: bool) -> None:
    """Print how far a new checker can be trusted."""
    if as_json:
        show.print_json(checker.about)
        return
    print_sets(checker.held_out)
    print(out / "checker.json")


def print_sets(sets: Mapping[str, Mapping[str, Any]]) -> None:
    """Print accuracy and confusion on each set."""
    for name, found in sets.items():
        rows = [(true, *said.values()) for true, said in found["confusion"].items()]
        show.print_table(f"{name}: {accuracy(found)}", ("is / taken for", *found["confusion"]), rows)


def register(parent: typer.Typer) -> None:
    """Add the commands to ``parent``."""
    parent.add_typer(app, name="checker")
