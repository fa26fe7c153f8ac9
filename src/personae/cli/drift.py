"""`personae drift`: does a model keep to its persona in a long conversation?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.evaluate import About, Json, Record, progress
from personae.cli.quiet import quiet
from personae.cli.talking import CheckerFolder, Overrides, RunFolder, open_checker, read_decoding, trust
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.consistency import Checker
    from personae.drift import Cast, Curve, Settings

Against = Annotated[
    list[Path] | None,
    typer.Option(metavar="RUN", help="Another run, in the same roles; may be repeated.", show_default=False),
]
Data = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Its personae talk; by default interview's.", show_default=False),
]


def drift_command(
    run: RunFolder,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write.", show_default=False)],
    overrides: Overrides = None,
    turns: Annotated[int, typer.Option(metavar="N", help="Of each conversation.")] = 100,
    conversations: Annotated[int, typer.Option(metavar="N", help="Each of two personae.")] = 20,
    against: Against = None,
    data: Data = None,
    checker: CheckerFolder = None,
    opener: Annotated[str, typer.Option(metavar="TEXT", help="What the first speaker hears.")] = "hello .",
    batch: Annotated[int, typer.Option(help="Replies made at once; changes the speed only.")] = 64,
    seed: Annotated[int, typer.Option(help="Of personae, questions and sampling.")] = 0,
    record: Record = None,
    about: About = "",
    as_json: Json = False,
) -> None:
    """Let a model talk to itself, and see whether it keeps to its personae: accuracy, C-score, repetition by turn."""
    if bool(about.strip()) != (record is not None):
        raise UserError("--record and --about go together: a kept result says what it is")
    from personae.drift import Settings, make_casts, write_drift
    from personae.drift.report import as_dict
    from personae.runs import Run, write_json

    runs = named([run, *(against or [])])
    settings = Settings(turns, opener, batch, seed)
    casts = make_casts(Run(run).recipe(), conversations, data or [], seed)
    judge = open_checker(checker)
    curves = measure(runs, casts, settings, overrides or [], judge)
    facts = facts_of(settings, casts, judge)
    written = write_drift(out, curves, facts)
    if record is not None:
        written.append(write_json(record, {"about": about, **as_dict(curves, facts)}))
    if as_json:
        show.print_json(as_dict(curves, facts))
    else:
        print_curves(curves, judge, written)


def named(paths: Sequence[Path]) -> dict[str, Path]:
    """Runs by the shortest ends of their paths that tell them apart."""
    whole = [path.resolve().parts for path in paths]
    if len(set(whole)) < len(whole):
        raise UserError("--against names a run twice: give another one")
    for length in range(1, max(map(len, whole)) + 1):
        names = ["/".join(parts[-length:]) for parts in whole]
        if len(set(names)) == len(names):
            break
    return dict(zip(names, paths, strict=True))


def measure(
    runs: Mapping[str, Path],
    casts: "Sequence[Cast]",
    settings: "Settings",
    overrides: Sequence[str],
    judge: "Checker | None",
) -> "dict[str, Curve]":
    """The curve of every run; all of them play the same roles."""
    from personae.drift import measure_drift
    from personae.runs import Run

    curves = {}
    decodings = {name: read_decoding(Run(path), overrides) for name, path in runs.items()}
    with quiet():
        for name, path in runs.items():
            with progress() as tell:
                curves[name] = measure_drift(Run(path), casts, settings, decodings[name], judge, tell)
    return curves


def facts_of(settings: "Settings", casts: "Sequence[Cast]", judge: "Checker | None") -> dict[str, Any]:
    """What was measured and how, without paths of this machine."""
    from dataclasses import asdict

    from personae.evaluation.settings import versions

    checked = None if judge is None else {**judge.fields, "sets": judge.held_out}
    return {"settings": asdict(settings), "conversations": len(casts), "checker": checked, "versions": versions()}


def print_curves(curves: "Mapping[str, Curve]", judge: "Checker | None", written: Sequence[Path]) -> None:
    """Print a table for each measure, and where everything is kept."""
    from personae.drift.curve import MEASURES
    from personae.drift.report import grid, measures

    for name in measures(curves):
        columns, rows = grid(curves, name)
        show.print_table(MEASURES[name], columns, rows)
    rows = [[name, *(f"{point.lost:.1f}" for point in curve.points)] for name, curve in curves.items()]
    show.print_table("persona tokens cut from what a reply is made of, mean", columns, rows)
    if judge is not None:
        print(f"the agreement is the word of a checker: {trust(judge)}")
    for path in written:
        print(path)


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("drift")(drift_command)
