"""`personae rank`: rankers that need no run, on the candidates of a data file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from personae.cli import show
from personae.cli.evaluate import About, Data, Json, Limit, Record, check_options, print_unseen
from personae.cli.quiet import quiet
from personae.cli.scores import print_scores
from personae.errors import UserError

Name = Annotated[
    str, typer.Argument(metavar="RANKER", help="A ranker: see `personae list rankers`.", show_default=False)
]
Train = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="What a ranker learns from; may be repeated.", show_default=False),
]
Style = Annotated[str, typer.Option(help="Spelling to bring the training text to: as_read or convai2.")]
Epochs = Annotated[int | None, typer.Option(metavar="N", help="How often a ranker goes through its training text.")]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Decides how a ranker that learns starts.")]


def rank_command(
    name: Name,
    data: Data = None,
    train: Train = None,
    style: Style = "as_read",
    epochs: Epochs = None,
    seed: Seed = None,
    limit: Limit = None,
    record: Record = None,
    about: About = "",
    as_json: Json = False,
) -> None:
    """Rank the candidate replies of a data file without a run: by TF-IDF, or by a small ranker trained here."""
    check_options(data, record, about)
    options = {key: value for key, value in (("epochs", epochs), ("seed", seed)) if value is not None}
    if not train and (options or style != "as_read"):
        raise UserError("--style, --epochs and --seed are for a ranker that learns: give --train FILE too")
    from personae.evaluation.contest import Lesson, contest, write_contest

    with quiet():
        lesson = Lesson(train, style, options) if train else None
        evaluation = contest(name, data or [], lesson, limit)
    if record is not None:
        write_contest(record, evaluation, about)
    if as_json:
        show.print_json(evaluation.as_dict())
        return
    facts = evaluation.facts["data"]
    print(f"{', '.join(facts['path'])}: {facts['examples']} examples of {facts['conversations']} conversations")
    print("value [95 % interval by conversation]\n")
    print_scores({name: evaluation.model, **evaluation.floors})
    if evaluation.unseen is not None:
        scores = {name if row == "model" else row: each for row, each in evaluation.unseen.scores.items()}
        print_unseen(replace(evaluation.unseen, scores=scores), trained="ranker")
    print(evaluation.model["hits1"].signature)


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("rank")(rank_command)
