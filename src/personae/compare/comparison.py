"""The whole of a comparison: how each recipe was trained, its scores on every data set, and what failed."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from personae.compare.grid import Cell, Plan
from personae.compare.table import Sheet, make_sheet
from personae.evaluation.settings import versions
from personae.recipe import Recipe
from personae.training import changed

BUDGET = ("steps", "epochs", "minutes", "batch")


@dataclass(frozen=True)
class Trained:
    """How a recipe was trained: ``parameters`` and ``steps`` by seed, ``seconds`` on average.

    ``seconds`` is None where every run was interrupted: a report counts the time since then only.
    """

    recipe: Recipe
    parameters: Mapping[int, int]
    steps: Mapping[int, int]
    seconds: float | None
    cells: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the hash is that of the resolved recipe without its seed."""
        resolved = self.recipe.as_dict()
        del resolved["train"]["seed"]
        text = json.dumps(resolved, sort_keys=True, default=str)
        return {
            "recipe": resolved,
            "recipe_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "parameters": {str(seed): count for seed, count in self.parameters.items()},
            "steps": {str(seed): count for seed, count in self.steps.items()},
            "seconds": self.seconds,
            "cells": [dict(each) for each in self.cells],
        }


@dataclass(frozen=True)
class Comparison:
    """Recipes by name, sheets by data set, and one line for each cell that failed."""

    trained: Mapping[str, Trained]
    sheets: Mapping[str, Sheet]
    against: str
    seeds: Sequence[int]
    overrides: Sequence[str]
    failed: Mapping[str, str]
    notes: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """The content of ``table.json``."""
        return {
            "against": self.against,
            "seeds": list(self.seeds),
            "overrides": list(self.overrides),
            "recipes": {name: each.as_dict() for name, each in self.trained.items()},
            "data": {name: sheet.as_dict() for name, sheet in self.sheets.items()},
            "failed": dict(self.failed),
            "notes": list(self.notes),
            "versions": versions(),
        }


def make_comparison(plan: Plan, failed: Mapping[str, str]) -> Comparison:
    """Everything that the finished cells of ``plan`` have to say."""
    done = [cell for cell in plan.cells if cell.finished]
    trained = {
        name: make_trained(recipe, plan.out, [cell for cell in done if cell.name == name])
        for name, recipe in plan.recipes.items()
        if any(cell.name == name for cell in done)
    }
    sheets = {data.name: make_sheet(plan, data) for data in plan.sets} if done else {}
    notes = [*budget_notes(plan), *thread_notes(trained), *seed_notes(plan, trained)]
    return Comparison(trained, sheets, plan.against, plan.seeds, plan.overrides, failed, notes)


def make_trained(recipe: Recipe, out: Path, cells: Sequence[Cell]) -> Trained:
    """What the reports of one recipe's cells say."""
    read = [_cell_facts(cell, out) for cell in cells]
    seconds = [each["seconds"] for each in read if not each["resumed"]]
    return Trained(
        recipe,
        {each["seed"]: each["parameters"] for each in read},
        {each["seed"]: each["steps"] for each in read},
        round(fmean(seconds), 1) if seconds else None,
        read,
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
        "resumed": notes.get("resumed", False),
        "threads": notes.get("threads"),
        "best_step": report["best"]["step"],
        "data": {split: report["data"][split]["sha256"] for split in ("train", "valid")},
    }


def budget_notes(plan: Plan) -> list[str]:
    """Where recipes differ from the first in data or budget: such a difference is not one of method alone."""
    (first, base), *others = plan.recipes.items()
    keys = {"data", *(f"train.{name}" for name in BUDGET)}
    notes = []
    for name, recipe in others:
        found = [key for key in changed(asdict(base), asdict(recipe)) if key in keys or key.split(".")[0] in keys]
        if found:
            notes.append(f"not one budget: {name} differs from {first} in {', '.join(found)}")
    return notes


def thread_notes(trained: Mapping[str, Trained]) -> list[str]:
    """Where runs had different numbers of threads."""
    counts = {each["threads"] for recipe in trained.values() for each in recipe.cells} - {None}
    if len(counts) < 2:
        return []
    listed = ", ".join(map(str, sorted(counts)))
    return [f"runs had {listed} threads: their seconds cannot be compared, and sums may differ in their last digits"]


def seed_notes(plan: Plan, trained: Mapping[str, Trained]) -> list[str]:
    """Where seeds or recipes are missing."""
    notes = [] if plan.against in trained else [f"no differences: {plan.against} has no finished run"]
    for name, recipe in trained.items():
        missing = [str(seed) for seed in plan.seeds if seed not in recipe.steps]
        if missing:
            notes.append(f"{name}: without seed {', '.join(missing)}, which failed")
    return notes
