"""`personae score`: replies of any system, scored beside the floors, without a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personae.cli import show
from personae.cli.evaluate import progress
from personae.cli.scores import (
    Published,
    print_published,
    print_scores,
    print_signatures,
    read_published,
    with_published,
)
from personae.errors import UserError

if TYPE_CHECKING:
    from personae.scoring import Scoring

Given = Annotated[
    Path,
    typer.Argument(
        metavar="PREDICTIONS",
        help="JSON Lines as `personae evaluate` writes them, or UTF-8 text with one reply a line (a blank line is an"
        " empty reply).",
        show_default=False,
    ),
]
References = Annotated[
    Path | None,
    typer.Argument(
        metavar="REFERENCES",
        help="For text: gold replies, as many lines as PREDICTIONS; several of one reply on its line, with TAB between"
        " them.",
        show_default=False,
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="With commas: see `personae list metrics`. By default all that the predictions have what they need for.",
        show_default=False,
    ),
]
Vectors = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Word vectors, for the metrics that compare them.", show_default=False),
]
Conversations = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="For text: the name of the conversation of each line. Intervals are drawn by conversation; without names"
        " every line counts as one of its own.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON: every score with its signature.")]


def score_command(
    predictions: Given,
    references: References = None,
    metrics: Metrics = None,
    vectors: Vectors = None,
    conversations: Conversations = None,
    published: Published = None,
    as_json: Json = False,
) -> None:
    """Score replies of any system, from this tool or another, beside the floors; no model is needed.

    \b
    Examples:
      personae score runs/demo/evaluation/valid/predictions.jsonl
      personae score replies.txt gold.txt --metrics f1,dist2
      personae score replies.txt gold.txt --conversations names.txt
      personae score replies.txt gold.txt --published convai2
      personae score replies.txt
    """
    names, beside = metric_names(metrics), read_published(published)
    from personae.scoring import open_predictions, score

    with progress() as tell:
        scoring = score(open_predictions(predictions, references, conversations), names, vectors, tell)
    if as_json:
        show.print_json(with_published(scoring.as_dict(), beside))
    else:
        print_scoring(scoring)
        print_published(beside)


def metric_names(given: str | None) -> list[str] | None:
    """The names in ``given``, all of them known; None where it is None."""
    if given is None:
        return None
    from personae.metrics import Metric

    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise UserError("--metrics names none: give names with commas, see personae list metrics")
    return [Metric.get(name).name for name in dict.fromkeys(names)]


def print_scoring(scoring: "Scoring") -> None:
    """Print the scores as tables, and below them what they rest on."""
    from personae.scoring.score import UNITS

    facts = scoring.facts
    print(f"{' and '.join(each['path'] for each in facts['data'].values())}: {facts['replies']:,} replies")
    print(f"value [95 % interval by {UNITS[facts['unit']].format(facts['conversations'])}]\n")
    print_scores(scoring.rows)
    for name, text in scoring.floor_texts.items():
        print(f"{name}: {text}")
    for note in scoring.notes:
        print(note)
    print("signatures of the predictions' scores; those of the other rows stand in --json")
    print_signatures(scoring.predictions)


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("score")(score_command)
