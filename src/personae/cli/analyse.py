"""`personae analyse`: what a model weighs and gates, and who wins where."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personae.cli import show
from personae.cli.evaluate import Data, Json, Limit, ReaderName, default_folder, progress
from personae.cli.quiet import quiet
from personae.cli.talking import RunFolder
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.analysis import Analysis
    from personae.analysis.means import Mean
    from personae.analysis.wins import Wins

app = typer.Typer(no_args_is_help=True, help="What a model weighs and gates by layer; who wins by history length.")

Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where to write: RUN/analysis/<name of the data> by default.")
]
Predictions = Annotated[Path, typer.Argument(metavar="PREDICTIONS", help="predictions.jsonl", show_default=False)]


@app.command("weights")
def weights_command(
    run: RunFolder,
    data: Data = None,
    reader: ReaderName = None,
    limit: Limit = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How much each source counts in each layer: by the parameters, and with --data by what it contributes."""
    check_data(data, reader, limit)
    from personae.analysis.weights import analyse_weights
    from personae.runs import Run

    with quiet(), progress() as tell:
        found = analyse_weights(Run(run), data or (), reader, limit, tell)
    finish(found, out or folder_of(run, data or (), limit), as_json)
    if as_json:
        return
    if found.weights:
        print_lines(f"{found.fusion}: {found.meaning}", found.weights)
    if found.shares:
        print_lines(f"{found.fusion}: share of the contributions [95 % interval by conversation]", found.shares)
    print_signatures(found.signatures)


@app.command("gates")
def gates_command(
    run: RunFolder,
    data: Data = None,
    reader: ReaderName = None,
    limit: Limit = None,
    example: Annotated[int, typer.Option(metavar="N", help="Which example the heat map shows, from 0.")] = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How far the gates and masks of a gating fusion are open, by layer and token."""
    if not data:
        raise UserError("nothing to read: give --data FILE")
    from personae.analysis.gates import analyse_gates
    from personae.runs import Run

    with quiet(), progress() as tell:
        found = analyse_gates(Run(run), data, reader, limit, example, tell)
    finish(found, out or folder_of(run, data, limit), as_json)
    if as_json:
        return
    print_lines(f"{found.fusion}: mean weight [95 % interval by conversation]", found.weights)
    print_lines(f"{found.fusion}: share of open entries", found.open)
    print_signatures([found.signature])


@app.command("wins")
def wins_command(
    ours: Predictions,
    theirs: Predictions,
    by: Annotated[str | None, typer.Option(metavar="METRIC", help="Judge each reply by a metric: f1.")] = None,
    scores: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judgements, one a line: id and winner, or id, a and b.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write JSON and pictures here.")] = None,
    as_json: Json = False,
) -> None:
    """Wins, ties and losses of the first predictions against the second, by the length of the history."""
    if (by is None) == (scores is None):
        raise UserError("who judges? give --by METRIC or --scores FILE, one of them")
    from personae.analysis.judgements import read_judgements
    from personae.analysis.wins import analyse_wins, check_pairs, judge_by_metric
    from personae.evaluation import read_predictions

    first, second = read_predictions(ours), read_predictions(theirs)
    if scores is not None:
        check_pairs(first, second)
        judgements, undefined, judge = read_judgements(scores, len(first)), 0, scores.name
    else:
        judgements, undefined = judge_by_metric(str(by), first, second)
        judge = str(by)
    files = {"a": ours, "b": theirs, **({"scores": scores} if scores else {})}
    found = analyse_wins(first, judgements, judge, undefined, **{key: hashed(path) for key, path in files.items()})
    finish(found, out, as_json)
    if not as_json:
        print_wins(found, ours, theirs)


def check_data(data: Sequence[Path] | None, reader: str | None, limit: int | None) -> None:
    """Refuse options that say how data are read where there are none."""
    if not data and (reader is not None or limit is not None):
        raise UserError("--reader and --limit say how --data is read: give --data FILE too")


def folder_of(run: Path, data: Sequence[Path], limit: int | None) -> Path:
    """Where an analysis goes."""
    return run / "analysis" / default_folder(run, data, limit).name if data else run / "analysis"


def hashed(path: Path) -> str:
    """A short hash of a file's bytes."""
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def finish(found: "Analysis", out: Path | None, as_json: bool) -> None:
    """Write numbers and pictures to ``out``, if any, and print the numbers as JSON or the paths."""
    from personae.analysis import write

    written = write(out, found) if out is not None else []
    if as_json:
        show.print_json(found.as_dict())
        return
    for path in written:
        print(path)
    if written:
        print()


def print_lines(title: str, lines: "Mapping[str, Sequence[Mean]]") -> None:
    """Print a table with a row for each layer and a column for each of ``lines``."""
    layers = len(next(iter(lines.values())))
    rows = [(f"layer {at + 1}", *(cell(line[at]) for line in lines.values())) for at in range(layers)]
    show.print_table(title, ("", *lines), rows)


def cell(mean: "Mean") -> str:
    """A mean as text: 0.512 [0.50–0.52]."""
    if mean.value != mean.value:
        return "-"
    return f"{mean.value:.3f}" + (f" [{mean.low:.3f}–{mean.high:.3f}]" if mean.interval is not None else "")


def print_wins(found: "Wins", ours: Path, theirs: Path) -> None:
    """Print the table of wins."""
    from personae.analysis.wins import LENGTHS

    print(f"{ours}\nagainst {theirs}, by {found.by}\n")
    rows = [
        (
            name,
            LENGTHS.get(name, ""),
            row.judgements,
            row.conversations,
            *map(cell, (row.win, row.tie, row.loss, row.net)),
        )
        for name, row in found.rows.items()
    ]
    columns = ("history", "utterances", "judgements", "conversations", "win", "tie", "loss", "win - loss")
    show.print_table("shares [95 % interval by conversation]", columns, rows)
    if found.undefined:
        print(f"{found.undefined} replies have no value by {found.by} and are left out")
    print_signatures([found.signature])


def print_signatures(signatures: Sequence[str]) -> None:
    """Print signatures, dimmed."""
    from rich.text import Text

    for each in signatures:
        show.console().print(Text(each, style="dim"))


def register(parent: typer.Typer) -> None:
    """Add the commands to ``parent``."""
    parent.add_typer(app, name="analyse")
