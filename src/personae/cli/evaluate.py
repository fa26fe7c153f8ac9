"""`personae evaluate`: a run's scores on data files, beside the floors."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personae.cli import show
from personae.cli.quiet import quiet
from personae.cli.talking import Overrides, Precision, RunFolder, read_decoding
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.evaluation import Evaluation
    from personae.evaluation.judge import Tell, Unseen
    from personae.evaluation.scores import Scores
    from personae.metrics import Score

# Tables of what belongs together; a metric named nowhere here stands in the last one.
TABLES = {
    "perplexity of the gold replies": ("perplexity_token", "perplexity_word", "convai2_perplexity"),
    "nats of the gold replies": ("nats_per_token", "nats_per_word", "nats_per_byte"),
    "right answers, share": ("persona_accuracy", "context_accuracy", "both_accuracy"),
    "words shared with the gold replies, %": ("f1", "bleu", "bleu_p1", "bleu_p2", "exact_match"),
    "token ids of the argmax under the gold reply, %": ("paa_teacher_forced_macro_f1",),
    "n-grams shared, as caption tools score, 0 to 1": ("coco_bleu1", "coco_bleu2", "coco_bleu3", "coco_bleu4"),
    "alignment with the gold replies, 0 to 1": ("rouge_l", "meteor_exact_stem", "meteor"),
    "n-grams shared, weighed by rarity": ("cider", "nist4"),
    "mean sentence BLEU of ParlAI, 0 to 1": ("parlai_bleu1", "parlai_bleu2", "parlai_bleu3", "parlai_bleu4"),
    "mean sentence BLEU of DialogVED, 1.33 is perfect": ("bleu_nltk35_method7_1", "bleu_nltk35_method7_2"),
    "nearness in word vectors, %": ("embedding_average", "embedding_greedy", "embedding_extrema"),
    "variety of words, %": ("dist1", "dist2", "dist3"),
    "variety as single papers count it, %": (
        *("paa_dist1", "paa_dist2", "adand_dist1", "adand_dist2", "adand_dist3", "cao_dist2"),
    ),
    "known evidence found, share": ("evidence_accuracy_attention", "evidence_accuracy_leave_one_out"),
    "attention beside leaving out": ("evidence_agreement", "evidence_correlation"),
    "entropy in nats, length in words": ("entropy4", "length", "cao_length"),
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
    metrics: Metrics = None,
    dictionary: Dictionary = None,
    tolerance: Tolerance = None,
    record: Record = None,
    about: About = "",
    as_json: Json = False,
) -> None:
    """Score a run: perplexity, words, right answers, each with its interval and beside the floors."""
    check_options(data, record, about)
    from personae.evaluation import Further, evaluate
    from personae.evaluation.record import write_record
    from personae.runs import Run

    further = Further(names_of(metrics), dictionary, tolerance)
    folder = out or default_folder(run, data or [], limit)
    with quiet(), progress() as tell:
        evaluation = evaluate(
            *(Run(run), data or [], folder),
            reader=reader,
            limit=limit,
            decoding=read_decoding(Run(run), overrides or []),
            batch=batch,
            seed=seed,
            precision=precision,
            further=further,
            tell=tell,
        )
    if record is not None:
        write_record(record, Run(run), evaluation, about)
    show_evaluation(evaluation, folder, further.metrics, as_json)


def show_evaluation(evaluation: "Evaluation", folder: Path, columns: Sequence[str], as_json: bool) -> None:
    """Print all of it as JSON, or the ``columns`` as tables."""
    if as_json:
        show.print_json(evaluation.as_dict())
    else:
        print_evaluation(evaluation, folder, columns)


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


def print_unseen(unseen: "Unseen", columns: Sequence[str] = ()) -> None:
    """Print how many examples have a persona that the model knows, and the main scores on the others."""
    print(f"{1 - unseen.share:.1%} of the examples have a persona that the run was trained on\n")
    if 0 < unseen.share < 1:
        print_group(f"the {unseen.examples} other examples", columns or UNSEEN, unseen.scores)


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
