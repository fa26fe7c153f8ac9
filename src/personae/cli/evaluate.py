"""`personae evaluate`: a run's scores on data files, beside the floors."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personae.cli import show
from personae.cli.quiet import quiet
from personae.cli.talking import CheckerFolder, Overrides, Precision, RunFolder, open_checker, read_decoding, trust
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.consistency import Checker
    from personae.evaluation import Evaluation
    from personae.evaluation.judge import Tell, Unseen
    from personae.evaluation.scores import Scores
    from personae.metrics import Metric, Score

# Tables of what belongs together; a metric named nowhere here stands in the last one.
TABLES = {
    "perplexity of the gold replies": ("perplexity_token", "perplexity_word"),
    "nats of the gold replies": ("nats_per_token", "nats_per_word", "nats_per_byte"),
    "right answers, share": ("persona_accuracy", "context_accuracy", "both_accuracy"),
    "words shared with the gold replies, %": ("f1", "bleu", "bleu_p1", "bleu_p2"),
    "variety of words, %": ("dist1", "dist2"),
    "agreement with the persona, sum over its sentences": ("c_score",),
}
UNSEEN = ("perplexity_token", "persona_accuracy", "f1")

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
Record = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also keep the scores with recipe and training in FILE, as under results/."),
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
    record: Record = None,
    about: About = "",
    checker: CheckerFolder = None,
    as_json: Json = False,
) -> None:
    """Score a run: perplexity, words, right answers, each with its interval and beside the floors."""
    check_options(data, record, about)
    from personae.evaluation import evaluate
    from personae.evaluation.record import write_record
    from personae.runs import Run

    decoding = read_decoding(Run(run), overrides or [])
    folder = out or default_folder(run, data or [], limit)
    judge = open_checker(checker)
    with quiet(), progress() as tell:
        evaluation = evaluate(
            *(Run(run), data or [], folder),
            reader=reader,
            limit=limit,
            decoding=decoding,
            batch=batch,
            seed=seed,
            precision=precision,
            tell=tell,
            further=judged_by(judge),
        )
    if record is not None:
        write_record(record, Run(run), evaluation, about)
    print_evaluation(evaluation, folder, as_json, judge)


def judged_by(judge: "Checker | None") -> "Mapping[str, Metric]":
    """The metrics that a checker makes possible."""
    from personae.metrics import Metric

    return {} if judge is None else {"c_score": Metric.build("c_score", judge=judge)}


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


def print_evaluation(evaluation: "Evaluation", folder: Path, as_json: bool, judge: "Checker | None") -> None:
    """Print the scores as JSON, or as tables and below them what they rest on."""
    if as_json:
        show.print_json(evaluation.as_dict())
        return
    facts = evaluation.facts
    data = facts["data"]
    print(f"{', '.join(data['path'])}: {data['examples']} examples of {data['conversations']} conversations")
    print("value [95 % interval by conversation]\n")
    print_scores(evaluation.rows)
    if evaluation.unseen is not None:
        print_unseen(evaluation.unseen)
    for name, text in evaluation.floor_texts.items():
        print(f"{name}: {text}")
    for note in [*evaluation.notes, cut_note(facts["cuts"])]:
        print(note)
    if judge is not None:
        print(f"c_score is the word of a checker: {trust(judge)}")
    print_signatures(evaluation.model)
    print(f"{folder / 'scores.json'}\n{folder / 'predictions.jsonl'}")


def print_unseen(unseen: "Unseen") -> None:
    """Print how many examples have a persona that the model knows, and the main scores on the others."""
    print(f"{1 - unseen.share:.1%} of the examples have a persona that the run was trained on\n")
    if 0 < unseen.share < 1:
        print_group(f"the {unseen.examples} other examples", UNSEEN, unseen.scores)


def print_scores(rows: "Mapping[str, Scores]") -> None:
    """Print ``rows`` in one table for each kind of metric."""
    measured = dict.fromkeys(name for scores in rows.values() for name in scores)
    placed = {name for names in TABLES.values() for name in names}
    tables = {**TABLES, "further metrics": tuple(name for name in measured if name not in placed)}
    for title, names in tables.items():
        print_group(title, names, rows)


def print_group(title: str, names: Sequence[str], rows: "Mapping[str, Scores]") -> None:
    """Print those of the metrics ``names`` that were measured; a row without any is left out."""
    columns = [name for name in names if any(name in scores for scores in rows.values())]
    having = {row: scores for row, scores in rows.items() if any(name in scores for name in columns)}
    if having:
        cells = [(row, *(cell(scores.get(name)) for name in columns)) for row, scores in having.items()]
        show.print_table(title, ("", *columns), cells)


def cell(score: "Score | None") -> str:
    """One score as text, four digits and bounds with one less: 22.98 [22.6–23.4]."""
    if score is None:
        return "-"
    whole = len(str(int(abs(score.value)))) if abs(score.value) >= 1 else 0
    decimals = max(0, 4 - whole)
    value = f"{score.value:,.{decimals}f}"
    if score.interval is None:
        return value
    low, high = (f"{bound:,.{max(0, decimals - 1)}f}" for bound in score.interval)
    return f"{value} [{low}–{high}]"


def cut_note(cuts: "Mapping[str, Mapping[str, int]]") -> str:
    """What the budgets cut from the sources, as a sentence."""
    texts, tokens = cuts["texts_cut"], cuts["tokens_cut"]
    lost = [f"{tokens[name]} tokens ({texts.get(name, 0)} whole texts) of {name}" for name in sorted(tokens)]
    return f"cut to the budgets: {', '.join(lost) or 'nothing'}"


def print_signatures(scores: "Scores") -> None:
    """Print the model's signatures, dimmed; those of the floors stand in ``scores.json``."""
    from rich.text import Text

    for score in scores.values():
        show.console().print(Text(score.signature, style="dim"))


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("evaluate")(evaluate_command)
