"""`personae data`: look at data files, write the generated corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from personae.cli import show

if TYPE_CHECKING:
    from personae.data.check import DataReport, FileReport

app = typer.Typer(no_args_is_help=True, help="Check data files; write the generated corpus.")


@app.command("check")
def check_command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Data files.", show_default=False)],
    reader: Annotated[
        str | None, typer.Option(help="Format of the files: see `personae list readers`. Guessed by default.")
    ] = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="Stop at a malformed line, or skip and list it.")
    ] = "raise",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count examples, lengths, duplicates and empty turns; compare the personas of several files."""
    from personae.data.check import check

    report = check(paths, reader=reader, on_error=on_error)
    if as_json:
        show.print_json(report.as_dict())
    else:
        print_report(report)


@app.command("interview")
def interview_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write to.", show_default=False)],
    seed: Annotated[int, typer.Option(help="The same seed writes the same files.")] = 0,
) -> None:
    """Write `interview`, a corpus whose replies say which persona sentence they rest on."""
    from personae.data import interview

    for path in interview.write(out, seed=seed).values():
        print(path)


@app.command("dictionary")
def dictionary_command(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Data files: of ConvAI2 train and valid.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write.", show_default=False)],
    reader: Annotated[
        str | None, typer.Option(help="Format of the files: see `personae list readers`. Guessed by default.")
    ] = None,
) -> None:
    """Write the words of data files, one a line, the commonest first: the dictionary of convai2_perplexity."""
    from personae.data.dictionary import build_dictionary, dictionary_hash, write_dictionary

    words = build_dictionary(paths, reader)
    write_dictionary(out, words)
    print(f"{out}: {len(words):,} words, dictionary:{dictionary_hash(words)}")


def print_report(report: "DataReport") -> None:
    """Print the report as tables: counts, lengths, shared personas, and what was skipped."""
    print_counts(report)
    print_lengths(report)
    if report.overlaps:
        columns = ("first", "second", "persona sets", "share of second's examples")
        rows = [(pair.first, pair.second, pair.persona_sets, pair.examples_share) for pair in report.overlaps]
        show.print_table("personas shared", columns, rows)
    for file in report.files:
        for message in file.skipped:
            print(f"skipped: {message}")


def print_counts(report: "DataReport") -> None:
    """Print what each file holds."""
    columns = ("conversations", "examples", "persona sets", "with candidates", "duplicates", "empty turns")
    rows = [
        (
            *(file.path, file.reader, file.conversations, file.examples, file.persona_sets),
            *(f"{file.with_candidates:.0%}", file.duplicates, file.empty_turns, len(file.skipped)),
        )
        for file in report.files
    ]
    show.print_table("counts", ("file", "reader", *columns, "skipped"), rows)


def print_lengths(report: "DataReport") -> None:
    """Print the lengths of each file's sources and replies."""
    spreads = ("texts: mean", "median", "max", "words: mean", "median", "max")
    rows = [row for file in report.files for row in lengths(file)]
    show.print_table("lengths", ("file", "what", "examples", *spreads), rows)


def lengths(file: "FileReport") -> list[tuple[object, ...]]:
    """Return one row for each source of ``file``, and one for its replies."""
    rows: list[tuple[object, ...]] = [
        (
            *(file.path, name, source.examples),
            *(source.texts.mean, source.texts.median, source.texts.maximum),
            *(source.words.mean, source.words.median, source.words.maximum),
        )
        for name, source in sorted(file.sources.items())
    ]
    words = file.reply_words
    reply = (file.path, "reply", file.examples, None, None, None, words.mean, words.median, words.maximum)
    return [*rows, reply]


def register(parent: typer.Typer) -> None:
    """Add the commands to ``parent``."""
    parent.add_typer(app, name="data")
