"""`personae compare`: recipes trained on one budget with several seeds, scored, in one table."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.evaluate import About, Data, Json, Limit, ReaderName, Record
from personae.cli.frame import INTERRUPTED
from personae.cli.quiet import quiet
from personae.cli.scores import Published, print_published, read_published, with_published
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.compare import Cell, Comparison, Plan
    from personae.compare.pool import Hear
    from personae.compare.work import Tell
    from personae.scoring.published import Table

FAILED = 1

Given = Annotated[
    list[str],
    typer.Argument(
        metavar="RECIPE|KEY=VALUE",
        help="Shipped recipes or YAML files, and changes of all of them: train.steps=400",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where runs and tables go.", show_default=False)]
Seeds = Annotated[int, typer.Option(metavar="N", help="Train every recipe with the seeds 0 to N-1.")]
Jobs = Annotated[int, typer.Option(metavar="J", help="Runs at a time; they share the cores.")]
Engine = Annotated[
    str, typer.Option(metavar="NAME", help="What starts runs: see `personae list engines`; ray takes a whole cluster.")
]
Fractions = Annotated[
    str | None,
    typer.Option(metavar="SHARES", help="Train on these shares of the data: 0.1,0.2,1.", show_default=False),
]
Sample = Annotated[str, typer.Option(metavar="NAME", help="How --fractions choose: see `personae list subsets`.")]
Sort = Annotated[
    str | None,
    typer.Option(metavar="METRIC", help="Rows best first by this metric: as given by default.", show_default=False),
]
Against = Annotated[
    str | None, typer.Option(metavar="RECIPE", help="Compare with this one: the first by default.", show_default=False)
]
Metrics = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Columns, with commas: see `personae list metrics`.", show_default=False),
]


def compare_command(
    given: Given,
    out: Out,
    seeds: Seeds = 1,
    fractions: Fractions = None,
    sample: Sample = "random",
    jobs: Jobs = 1,
    engine: Engine = "local",
    data: Data = None,
    reader: ReaderName = None,
    limit: Limit = None,
    against: Against = None,
    metrics: Metrics = None,
    sort: Sort = None,
    record: Record = None,
    about: About = "",
    published: Published = None,
    as_json: Json = False,
) -> None:
    """Train recipes on one budget, score them on the same data, and tell differences from noise."""
    from personae.compare import make_plan

    chosen, beside = check_options(jobs, metrics, sort, record, about), read_published(published)
    recipes, overrides = split(given)
    on: dict[str, Any] = {"data": data or (), "reader": reader, "limit": limit, "against": against}
    plan = make_plan(
        *(recipes, out),
        overrides=overrides,
        seeds=seeds,
        **on,
        fractions=read_fractions(fractions),
        sample=sample,
    )
    comparison = run(plan, jobs, engine, sort)
    finish(plan, comparison, chosen, record, about, beside, as_json)
    for label, line in comparison.failed.items():
        print(f"personae: error: {label}: {line}", file=sys.stderr)
    if comparison.failed:
        raise typer.Exit(FAILED)


def check_options(jobs: int, metrics: str | None, sort: str | None, record: Path | None, about: str) -> list[str]:
    """The names of the metrics; refuse what would only show after training."""
    from personae.metrics import Metric

    if jobs < 1:
        raise UserError(f"--jobs {jobs}: run at least 1 at a time")
    if bool(about.strip()) != (record is not None):
        raise UserError("--record and --about go together: a kept result says what it is")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError(
            "compare starts its runs itself: call it without a launcher, and with --jobs for several at once"
        )
    if sort is not None:
        Metric.get(sort)
    names = [name.strip() for name in (metrics or "").split(",") if name.strip()]
    if metrics is not None and not names:
        raise UserError("--metrics names none: give names with commas, see personae list metrics")
    return [Metric.get(name).name for name in names]


def read_fractions(given: str | None) -> list[float]:
    """The shares of ``--fractions``; what they must be is checked with the plan."""
    if given is None:
        return []
    try:
        return [float(share) for share in given.split(",")]
    except ValueError:
        raise UserError(f"--fractions {given}: give shares with commas, as in 0.1,0.2,1") from None


def split(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Recipes, and overrides: what has an equals sign and is no file."""
    overrides = [each for each in given if "=" in each and not Path(each).is_file()]
    return [each for each in given if each not in overrides], overrides


def run(plan: "Plan", jobs: int, engine: str, sort: str | None) -> "Comparison":
    """Run what is not finished, and sort the rows where that is asked; an interruption says how to go on."""
    from personae.compare import make_comparison, run_cells, sort_rows

    try:
        with quiet(), progress() as (hear, tell):
            comparison = make_comparison(plan, run_cells(plan.cells, jobs, hear, tell, engine))
            return comparison if sort is None else sort_rows(comparison, sort)
    except KeyboardInterrupt:
        done = sum(cell.finished for cell in plan.cells)
        print(f"stopped with {done} of {len(plan.cells)} runs finished; the same command goes on.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def progress() -> Iterator[tuple["Hear", Callable[["Cell"], "Tell"]]]:
    """Lines on standard error where a cell begins or ends; in a terminal also a bar for what it is at."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, soft_wrap=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, visible=False)

        def tell_of(cell: "Cell") -> "Tell":
            return lambda stage, done, of: bar.update(
                task, description=f"{cell.label}: {stage}", completed=done, total=of, visible=done < of
            )

        yield lambda line: console.print(line, highlight=False, markup=False), tell_of


def finish(
    plan: "Plan",
    comparison: "Comparison",
    chosen: Sequence[str],
    record: Path | None,
    about: str,
    beside: "Sequence[Table]",
    as_json: bool,
) -> None:
    """Write the tables and print them, published numbers ``beside`` them; nothing where no run is finished."""
    from personae.compare import choose_metrics, write_comparison, write_record

    if not comparison.trained:
        return
    metrics = choose_metrics(comparison, chosen)
    with quiet():
        written = write_comparison(plan.out, comparison, metrics)
    if record is not None:
        write_record(record, comparison, about)
        written.append(record)
    if as_json:
        show.print_json(with_published(comparison.as_dict(), beside))
    else:
        print_comparison(comparison, metrics, written)
        print_published(beside)


def print_comparison(comparison: "Comparison", metrics: Sequence[str], written: Sequence[Path]) -> None:
    """Print the tables, what they rest on, and where they are kept."""
    from rich.text import Text

    from personae.compare.grids import fitted, grids
    from personae.compare.text import footnotes, signatures

    width = show.console().width
    for whole in grids(comparison, metrics):
        for grid in fitted(whole, width):
            show.print_table(grid.title, grid.columns, grid.rows, grid.best)
    for note in footnotes(comparison, metrics):
        print(note)
    first = next(iter(comparison.trained))
    print(f"signatures of {first}; all others stand in {written[1]}")
    for signature in signatures(comparison, metrics, first):
        show.console().print(Text(signature, style="dim"))
    for path in written:
        print(path)


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("compare")(compare_command)
