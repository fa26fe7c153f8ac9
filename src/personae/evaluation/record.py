"""A result to keep: scores with the recipe and the training behind them, without paths of this machine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from personae.runs import Run, write_json

TRAINING = ("steps", "seconds", "parameters", "vocabulary", "precision", "best", "data")


class Recordable(Protocol):
    """Scores with ``data`` and its ``path``, as ``Evaluation`` has them."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""


def write_record(path: Path, run: Run, evaluation: Recordable, about: str) -> None:
    """Write the scores of ``run`` to ``path``, as kept under ``results/`` at the path of the recipe.

    ``about`` says in a sentence what the result is and is not. Files are named without their folders; their
    hashes stand beside.
    """
    report = json.loads(run.report_file.read_text(encoding="utf-8"))
    scores = evaluation.as_dict()
    scores["data"] = {**scores["data"], "path": [Path(name).name for name in scores["data"]["path"]]}
    recipe = run.recipe().as_dict()
    for split in ("train", "valid"):
        recipe["data"][split] = [Path(name).name for name in recipe["data"][split]]
    first = recipe["train"]["start_from"]
    recipe["train"]["start_from"] = first and Path(first).name
    training = {key: report[key] for key in TRAINING}
    training["data"] = {split: unlisted(part) for split, part in training["data"].items()}
    write_json(path, {"about": about, "recipe": recipe, "training": training, **{**scores, "run": run.folder.name}})


def unlisted(part: Any) -> Any:
    """A report's entry with skipped lines counted: their texts are the data's."""
    if isinstance(part, Mapping) and "skipped_lines" in part:
        return {**part, "skipped_lines": len(part["skipped_lines"])}
    return part
