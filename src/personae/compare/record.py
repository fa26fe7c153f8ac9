"""A comparison to keep: its content without paths of this machine, as under ``results/``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from personae.compare.comparison import Comparison
from personae.runs import write_json


def write_record(path: Path, comparison: Comparison, about: str) -> None:
    """Write ``comparison`` to ``path``; ``about`` says in a sentence what it is and is not.

    Files are named without their folders, their hashes stand beside. What failed is named without its message,
    and overrides are left out: both may name folders, and the resolved recipes say what overrides did.
    """
    content = comparison.as_dict()
    del content["overrides"]
    content["failed"] = list(comparison.failed)
    for each in content["recipes"].values():
        each["recipe"] = unplaced(each["recipe"])
    for sheet in content["data"].values():
        sheet["data"] = {**sheet["data"], "path": [Path(name).name for name in sheet["data"]["path"]]}
        sheet["data"]["skipped_lines"] = len(sheet["data"]["skipped_lines"])
        del sheet["notes"]
    write_json(path, {"about": about, **content})


def unplaced(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe with local files and folders by their names; names of a hub stay whole."""
    data, text, model, train = recipe["data"], recipe["text"], recipe["model"], recipe["train"]
    files = {split: [Path(name).name for name in data[split]] for split in ("train", "valid")}
    return {
        **recipe,
        "data": {**data, **files},
        "text": {**text, "tokenizer": last_part(text["tokenizer"])},
        "model": {**model, "weights": last_part(model["weights"])},
        "train": {**train, "start_from": last_part(train.get("start_from"))},
    }


def last_part(name: str | None) -> str | None:
    """The name of a local folder; what is none of this machine's is a hub's."""
    return Path(name).name if name is not None and Path(name).exists() else name
