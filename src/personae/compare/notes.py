"""What a reader of a comparison should know of its runs, in sentences."""

from collections.abc import Mapping
from dataclasses import asdict

from personae.compare.grid import Plan
from personae.compare.trained import Trained
from personae.data.subset import Subset
from personae.training import changed

BUDGET = ("steps", "epochs", "minutes", "batch")


def all_notes(plan: Plan, trained: Mapping[str, Trained]) -> list[str]:
    """Everything below."""
    return [
        *budget_notes(plan),
        *fraction_notes(plan),
        *thread_notes(trained),
        *device_notes(trained),
        *seed_notes(plan, trained),
    ]


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


def fraction_notes(plan: Plan) -> list[str]:
    """What the shares of the training data are."""
    drawn = Subset.get(plan.sample).drawn
    return [
        f"at {fraction:g}: trained on {fraction:g} {drawn} (data.sample={plan.sample})"
        for fraction in plan.fractions
        if fraction < 1
    ]


def device_notes(trained: Mapping[str, Trained]) -> list[str]:
    """Where runs had different devices."""
    kinds = {device for each in trained.values() for device in each.devices}
    return [f"runs had different devices ({', '.join(sorted(kinds))}): do not compare their seconds"] * (len(kinds) > 1)


def thread_notes(trained: Mapping[str, Trained]) -> list[str]:
    """Where runs had different numbers of threads."""
    counts = {each["threads"] for recipe in trained.values() for each in recipe.cells} - {None}
    if len(counts) < 2:
        return []
    listed = ", ".join(map(str, sorted(counts)))
    return [f"runs had {listed} threads: their seconds cannot be compared, and sums may differ in their last digits"]


def seed_notes(plan: Plan, trained: Mapping[str, Trained]) -> list[str]:
    """Where seeds or recipes are missing."""
    bases = [row for row, (name, _) in plan.rows.items() if name == plan.against]
    notes = [f"no differences: {row} has no finished run" for row in bases if row not in trained]
    for name, recipe in trained.items():
        missing = [str(seed) for seed in plan.seeds if seed not in recipe.steps]
        if missing:
            notes.append(f"{name}: without seed {', '.join(missing)}, which failed")
    return notes
