"""The work on one cell: train it, score it, whatever of that is not done yet."""

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, TextIO

import torch

from personae.compare.grid import Cell
from personae.compare.statistics import by_conversation
from personae.errors import UserError
from personae.evaluation import evaluate, read_predictions
from personae.evaluation.judge import known_dialogues
from personae.runs import write_json
from personae.training import train
from personae.training.checkpoints import newest_checkpoint

# tell(stage, done, of) of one cell
Tell = Callable[[str, int, int], None]

ERROR = "personae: error: "


def attempt(cell: Cell, tell: Tell | None = None) -> str | None:
    """Train and score ``cell``; return what went wrong in one line, of which its log has more."""
    cell.folder.mkdir(parents=True, exist_ok=True)
    with cell.log.open("a", encoding="utf-8", buffering=1) as log:
        try:
            train_cell(cell, log, tell)
            score_cell(cell, log, tell)
        except Exception as error:  # whatever it is, the other cells go on
            if not isinstance(error, UserError):
                traceback.print_exc(file=log)
            line = one_line(error)
            print(f"{ERROR}{line}", file=log)
            return line
    return None


def train_cell(cell: Cell, log: TextIO, tell: Tell | None) -> None:
    """Train, from the newest checkpoint where training was interrupted; nothing if it is trained."""
    run = cell.run
    if run.report_file.is_file():
        return

    def note(step: int, of: int, values: dict[str, Any]) -> None:
        print(f"training {step}/{of}", *(f"{key}={value}" for key, value in values.items()), file=log)
        if tell:
            tell("training", step, of)

    resumed = newest_checkpoint(run.checkpoints) is not None
    write_json(cell.notes_file, {"resumed": resumed, "threads": torch.get_num_threads()})
    train(cell.recipe, cell.folder, run.recipe_file.is_file(), note)


def score_cell(cell: Cell, log: TextIO, tell: Tell | None) -> None:
    """Score on every data set that has no scores yet; sampling, where the recipe asks for it, by the cell's seed."""
    todo, run = cell.unscored, cell.run
    training = known_dialogues(run)[0] if todo else None
    for data in todo:
        out = cell.replies_file(data).parent
        options: dict[str, Any] = {"reader": data.reader, "limit": data.limit, "seed": cell.seed}
        evaluation = evaluate(run, data.files(cell.folder), out, **options, training=training, tell=tell)
        replies = read_predictions(cell.replies_file(data))
        write_json(cell.scores_file(data), {**evaluation.as_dict(), "by_conversation": by_conversation(replies)})
        print(f"scored {data.name}", file=log)


def one_line(error: Exception) -> str:
    """``error`` for a user; of a defect of ours also its kind."""
    text = " ".join(str(error).split())
    return text if isinstance(error, UserError | OSError) and text else f"{type(error).__name__}: {text}"


def _end_with_parent() -> None:
    """Wait until the parent is gone, however it ended: two processes in one folder would spoil it."""
    while os.read(0, 1):
        pass
    os._exit(1)


def main() -> None:
    """Run the cell that the first argument describes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sys.exit(1 if attempt(Cell.from_json(sys.argv[1])) else 0)
    except KeyboardInterrupt:
        sys.exit(130)
