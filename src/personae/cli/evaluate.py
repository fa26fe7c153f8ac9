"""`personae evaluate`: a run's scores on data files, beside the floors."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show
from personae.cli.quiet import quiet
from personae.cli.scores import (
    Published,
    print_group,
    print_published,
    print_scores,
    print_signatures,
    read_published,
    with_published,
)
from personae.cli.talking import CheckerFolder, Overrides, Precision, RunFolder, open_checker, read_decoding, trust
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.consistency import Checker
    from personae.evaluation import Evaluation
    from personae.evaluation.judge import Tell, Unseen
    from personae.evaluation.scores import Scores
    from personae.metrics import Metric
    from personae.scoring.published import Table

UNSEEN = ("perplexity_token", "persona_accuracy", "f1", "hits1")

Data = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="What to score on; may be repeated.", show_default=False)
]
ReaderName = Annotated[
    str | None, typer.Option(help="Format of the data: see `personae list readers`. Guessed by default.")
]
Limit = Annotated[int | None, typer.Option(metavar="N", help="Only the first N examples.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where to write: RUN/evaluation/<name of the data> by default."),
]
Batch = Annotated[int, typer.Option(help="Replies made at once; changes the speed only.")]
Seed = Annotated[int, typer.Option(help="Decides what sampling draws.")]
Candidates = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Rank the data's candidate replies: by likelihood, by the model's candidate head, or none.",
    ),
]
Record = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also keep the scores with recipe and training in FILE, as under results/."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Columns, with commas; some metrics are measured only if named.", show_default=False
    ),
]
Dictionary = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Words of convai2_perplexity: see `personae data dictionary`."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(metavar="NATS", help="How inexact convai2_perplexity may be: 0.01 by default, 0 is slow."),
]
About = Annotated[str, typer.Option(metavar="TEXT", help="What the kept result is and is not, for --record.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def evaluate_command(
    run: RunFolder,
    overrides: Overrides = None,
    data: Data = None,
    reader: ReaderName = None,
    limit: Limit = None,
    out: Out = None,
    batch: Batch = 64,
    seed: Seed = 0,
    precision: Precision = "fp32",
    candidates: Candidates = "none",
    metrics: Metrics = None,
    dictionary: Dictionary = None,
    tolerance: Tolerance = None,
    record: Record = None,
    about: About = "",
    published: Published = None,
    checker: CheckerFolder = None,
    as_json: Json = False,
) -> None:
    """Score a run: perplexity, words, right answers, each with its interval and beside the floors."""
    check_options(data, record, about)
    beside = read_published(published)
    from personae.evaluation import Further, evaluate
    from personae.evaluation.record import write_record
    from personae.runs import Run

    judge = open_checker(checker)
    further = Further(names_of(metrics), dictionary, tolerance, judged_by(judge))
    folder = out or default_folder(run, data or [], limit)
    decoding = read_decoding(Run(run), overrides or [])
    chosen: dict[str, Any] = {"reader": reader, "limit": limit, "batch": batch, "seed": seed, "precision": precision}
    chosen["candidates"] = candidates
    with quiet(), progress() as tell:
        evaluation = evaluate(Run(run), data or [], folder, **chosen, decoding=decoding, further=further, tell=tell)
    if record is not None:
        write_record(record, Run(run), evaluation, about)
    if judge is not None:
        evaluation = evaluation.but(notes=[*evaluation.notes, f"c_score is the word of a checker: {trust(judge)}"])
    finish(evaluation, folder, further.metrics, beside, as_json)


def finish(
    evaluation: "Evaluation", folder: Path, columns: Sequence[str], beside: "Sequence[Table]", as_json: bool
) -> None:
    """Print what was measured, ``columns`` of it, and, apart from it, published numbers ``beside`` it."""
    if as_json:
        show.print_json(with_published(evaluation.as_dict(), beside))
    else:
        print_evaluation(evaluation, folder, columns)
        print_published(beside)


def judged_by(judge: "Checker | None") -> "Mapping[str, Metric]":
    """The metrics that a checker makes possible."""
    from personae.metrics import Metric

    return {} if judge is None else {"c_score": Metric.build("c_score", judge=judge)}


def names_of(metrics: str | None) -> tuple[str, ...]:
    """The metrics that ``--metrics`` names; none where it is not given."""
    names = tuple(dict.fromkeys(name.strip() for name in (metrics or "").split(",") if name.strip()))
    if metrics is not None and not names:
        raise UserError("--metrics names none: give names with commas, see personae list metrics")
    return names


def check_options(data: Sequence[Path] | None, record: Path | None, about: str) -> None:
    """Refuse options that lack another."""
    if not data:
        raise UserError("nothing to score on: give --data FILE")
    if bool(about.strip()) != (record is not None):
        raise UserError("--record and --about go together: a kept result says what it is")


def default_folder(run: Path, data: Sequence[Path], limit: int | None) -> Path:
    """Where an evaluation goes; one of the first examples only stands apart from the whole."""
    first = "" if limit is None else f"-first-{limit}"
    return run / "evaluation" / ("+".join(path.stem for path in data) + first)


@contextmanager
def progress() -> Iterator["Tell"]:
    """A progress bar on standard error, while the body runs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=of)
            bar.update(tasks[stage], completed=done)

        yield tell


def print_evaluation(evaluation: "Evaluation", folder: Path, columns: Sequence[str] = ()) -> None:
    """Print the scores as tables, of ``columns`` only where there are any, and below them what they rest on."""
    facts = evaluation.facts
    data = facts["data"]
    print(f"{', '.join(data['path'])}: {data['examples']} examples of {data['conversations']} conversations")
    print("value [95 % interval by conversation]\n")
    print_scores({name: chosen(scores, columns) for name, scores in evaluation.rows.items()})
    if evaluation.unseen is not None:
        print_unseen(evaluation.unseen, columns)
    for name, text in evaluation.floor_texts.items():
        print(f"{name}: {text}")
    for note in [*evaluation.notes, cut_note(facts["cuts"])]:
        print(note)
    print_signatures(chosen(evaluation.model, columns))
    print(f"{folder / 'scores.json'}\n{folder / 'predictions.jsonl'}")


def chosen(scores: "Scores", columns: Sequence[str]) -> "Scores":
    """Those of ``scores`` that ``columns`` name; all where it names none."""
    return {name: score for name, score in scores.items() if not columns or name in columns}


def print_unseen(unseen: "Unseen", columns: Sequence[str] = (), trained: str = "run") -> None:
    """Print how many examples have a persona that the model knows, and the main scores on the others."""
    print(f"{1 - unseen.share:.1%} of the examples have a persona that the {trained} was trained on\n")
    if 0 < unseen.share < 1:
        print_group(f"the {unseen.examples} other examples", columns or UNSEEN, unseen.scores)


def cut_note(cuts: "Mapping[str, Mapping[str, int]]") -> str:
    """What the budgets cut from the sources, as a sentence."""
    texts, tokens = cuts["texts_cut"], cuts["tokens_cut"]
    lost = [f"{tokens[name]} tokens ({texts.get(name, 0)} whole texts) of {name}" for name in sorted(tokens)]
    return f"cut to the budgets: {', '.join(lost) or 'nothing'}"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("evaluate")(evaluate_command)
