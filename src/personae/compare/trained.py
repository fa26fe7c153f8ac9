"""How the recipes of a comparison were trained, and what that cost."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from personae.compare.grid import Cell
from personae.recipe import Recipe


@dataclass(frozen=True)
class Trained:
    """How a recipe was trained: ``parameters`` and ``steps`` by seed, ``seconds`` and ``rate`` on average.

    ``seconds`` includes validation and is None where every run was interrupted: a report counts the time since
    then only. ``rate``: tokens of training rows per second, padding not counted; ``devices``: what it ran on;
    both are unknown of runs that did not report them. ``fraction``: the share of its data that the grid gave it.
    """

    recipe: Recipe
    parameters: Mapping[int, int]
    steps: Mapping[int, int]
    seconds: float | None
    cells: Sequence[Mapping[str, Any]]
    name: str = ""
    fraction: float = 1.0
    rate: float | None = None
    devices: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the hash is that of the resolved recipe without its seed."""
        resolved = self.recipe.as_dict()
        del resolved["train"]["seed"]
        text = json.dumps(resolved, sort_keys=True, default=str)
        return {
            "recipe": resolved,
            "recipe_sha256": hashlib.sha256(text.encode()).hexdigest(),
            **{"name": self.name, "fraction": self.fraction},
            "parameters": {str(seed): count for seed, count in self.parameters.items()},
            "steps": {str(seed): count for seed, count in self.steps.items()},
            **{"seconds": self.seconds, "tokens_per_second": self.rate, "devices": list(self.devices)},
            "cells": [dict(each) for each in self.cells],
        }


def make_trained(out: Path, cells: Sequence[Cell]) -> Trained:
    """What the reports of the cells of one row say."""
    read = [_cell_facts(cell, out) for cell in cells]
    seconds = [each["seconds"] for each in read if not each["resumed"]]
    rates = [each["tokens_per_second"] for each in read if each["tokens_per_second"] is not None]
    return Trained(
        cells[0].recipe,
        {each["seed"]: each["parameters"] for each in read},
        {each["seed"]: each["steps"] for each in read},
        round(fmean(seconds), 1) if seconds else None,
        read,
        cells[0].name,
        cells[0].fraction,
        rate=round(fmean(rates)) if rates else None,
        devices=list(dict.fromkeys(each["device"] for each in read if each["device"])),
    )


def _cell_facts(cell: Cell, out: Path) -> dict[str, Any]:
    """A cell's report in short; the folder is relative to the comparison's."""
    report = json.loads(cell.run.report_file.read_text(encoding="utf-8"))
    # A run that was put there by hand has no notes.
    notes = json.loads(cell.notes_file.read_text(encoding="utf-8")) if cell.notes_file.is_file() else {}
    return {
        "seed": cell.seed,
        "folder": cell.folder.relative_to(out).as_posix(),
        **{key: report[key] for key in ("steps", "seconds", "parameters", "vocabulary", "precision")},
        **{key: report.get(key) for key in ("tokens_per_second", "device")},  # unknown of older runs
        **{key: report["data"]["train"].get(key) for key in ("examples", "conversations")},
        "resumed": notes.get("resumed", False),
        "threads": notes.get("threads"),
        "best_step": report["best"]["step"],
        "data": {split: report["data"][split]["sha256"] for split in ("train", "valid")},
    }
