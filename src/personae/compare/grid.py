"""Which runs a comparison needs: every recipe, on every share of its data, with every seed; each in its folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from personae.compare.sets import DataSet, choose_sets
from personae.data.subset import Subset
from personae.errors import UserError, nearest
from personae.evaluation.predictions import PREDICTIONS
from personae.recipe import DataRecipe, Recipe, load_recipe, make_recipe, shipped
from personae.runs import Run
from personae.training import changed


@dataclass(frozen=True, eq=False)
class Cell:
    """One recipe with one seed: a run in ``folder``, beside it its scores on every one of ``sets``.

    ``fraction``: the share of the training data that the grid gives it (1: all that the recipe names).
    """

    name: str
    seed: int
    recipe: Recipe
    folder: Path
    sets: tuple[DataSet, ...]
    fraction: float = 1.0

    @property
    def row(self) -> str:
        """What tables call the runs that differ from it in the seed only."""
        return row_of(self.name, self.fraction)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.row} seed {self.seed}"

    @property
    def run(self) -> Run:
        """Its run."""
        return Run(self.folder)

    @property
    def log(self) -> Path:
        """What happened in it, every attempt after the other."""
        return self.folder / "log.txt"

    @property
    def notes_file(self) -> Path:
        """How its training was started."""
        return self.folder / "cell.json"

    def scores_file(self, data: DataSet) -> Path:
        """Its scores on ``data``, with what intervals of differences need."""
        return self.folder / "scores" / f"{data.name}.json"

    def replies_file(self, data: DataSet) -> Path:
        """What it said to ``data``."""
        return self.folder / "evaluation" / data.name / PREDICTIONS

    @property
    def unscored(self) -> list[DataSet]:
        """The data sets that it has yet to be scored on."""
        return [data for data in self.sets if not self.scores_file(data).is_file()]

    @property
    def finished(self) -> bool:
        """Whether it is trained and scored."""
        return self.run.report_file.is_file() and not self.unscored

    def as_json(self) -> str:
        """For a process of its own."""
        return json.dumps({**asdict(self), "folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> "Cell":
        """The cell that ``as_json`` wrote."""
        values: dict[str, Any] = json.loads(text)
        sets = tuple(DataSet(**{**each, "paths": tuple(each["paths"])}) for each in values["sets"])
        recipe, folder = make_recipe(values["recipe"]), Path(values["folder"])
        return cls(values["name"], values["seed"], recipe, folder, sets, values["fraction"])


@dataclass(frozen=True)
class Plan:
    """What is compared: the recipes by name, where, the cells, what they are scored on, and against which.

    ``fractions``: shares of the training data, chosen as ``sample`` says; empty where the grid has none.
    """

    out: Path
    recipes: Mapping[str, Recipe]
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    sets: tuple[DataSet, ...]
    against: str
    overrides: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    sample: str = DataRecipe.sample

    @property
    def rows(self) -> dict[str, tuple[str, float]]:
        """Recipe and fraction of every row of the tables."""
        return {cell.row: (cell.name, cell.fraction) for cell in self.cells}


def make_plan(
    recipes: Sequence[str],
    out: Path,
    *,
    overrides: Sequence[str] = (),
    seeds: int = 1,
    data: Sequence[Path] = (),
    reader: str | None = None,
    limit: int | None = None,
    against: str | None = None,
    fractions: Sequence[float] = (),
    sample: str = DataRecipe.sample,
) -> Plan:
    """Read everything that a comparison rests on, and check it against what ``out`` holds already.

    ``seeds``: how many, from 0 on; ``data``, ``reader``, ``limit``: see ``choose_sets``; ``against``: the recipe
    that the others are compared with (None: the first); ``fractions``: train on these shares of the data, which
    the ``Subset`` called ``sample`` chooses (none: on what each recipe says). Raises ``UserError`` for what can be
    known to be wrong before anything is trained.
    """
    if not recipes:
        raise UserError("nothing to compare: name two recipes or more (personae list recipes)")
    if seeds < 1:
        raise UserError(f"seeds={seeds}: train each recipe with at least 1 seed")
    for override in overrides:
        if override.partition("=")[0] == "train.seed":
            raise UserError("train.seed is set for every seed of a comparison: give --seeds N instead")
    read = {name: load_recipe(given, overrides) for name, given in _names(recipes).items()}
    base = _against(against, recipes, list(read))
    check_fractions(read, fractions, sample)
    sets = choose_sets(read, data, reader, limit)
    cells = make_cells(recipes, out, overrides, range(seeds), sets, fractions or (1.0,), sample)
    for cell in cells:
        _check_kept(cell)
    seen = tuple(range(seeds))
    return Plan(out, read, seen, cells, sets, base, tuple(overrides), tuple(fractions), sample)


def make_cells(
    recipes: Sequence[str],
    out: Path,
    overrides: Sequence[str],
    seeds: Sequence[int],
    sets: tuple[DataSet, ...],
    fractions: Sequence[float],
    sample: str,
) -> tuple[Cell, ...]:
    """The grid: recipe by recipe, fraction by fraction, seed by seed."""
    return tuple(
        Cell(
            *(name, seed, load_recipe(given, [*overrides, *part(fraction, sample), f"train.seed={seed}"])),
            *(folder_of(out, name, seed, fraction, sample), sets, fraction),
        )
        for name, given in _names(recipes).items()
        for fraction in fractions
        for seed in seeds
    )


def check_fractions(recipes: Mapping[str, Recipe], fractions: Sequence[float], sample: str) -> None:
    """Refuse shares that are none, or that contradict what a recipe says itself."""
    if sample not in Subset.names():
        choices = ", ".join(Subset.names())
        raise UserError(f"--sample {sample}: unknown.{nearest(sample, Subset.names())} Choose one of: {choices}")
    for fraction in fractions:
        if not 0 < fraction <= 1:
            raise UserError(f"--fractions {fraction:g}: give shares above 0, 1 for all of the data")
        if [f"{each:g}" for each in fractions].count(f"{fraction:g}") > 1:
            raise UserError(f"--fractions names {fraction:g} twice")
    if sample != DataRecipe.sample and not any(fraction < 1 for fraction in fractions):
        raise UserError(f"--sample {sample} says which share to train on: give --fractions below 1 too")
    for name, recipe in recipes.items():
        if fractions and (recipe.data.fraction != 1 or recipe.data.conversations is not None):
            raise UserError(
                f"{name} says itself which part of its data it takes (data.fraction, data.conversations): leave that "
                "out, or --fractions"
            )


def name_of(recipe: str) -> str:
    """``interview/paa`` for a shipped recipe, ``mine`` for ``somewhere/mine.yaml``."""
    return recipe if recipe in shipped() else Path(recipe).stem


def row_of(name: str, fraction: float) -> str:
    """What tables call a recipe that is trained on a share of its data."""
    return name if fraction == 1 else f"{name} at {fraction:g}"


def part(fraction: float, sample: str) -> list[str]:
    """Overrides for a share of the data; for all of it there are none."""
    return [] if fraction == 1 else [f"data.fraction={fraction!r}", f"data.sample={sample}"]


def folder_of(out: Path, name: str, seed: int, fraction: float = 1.0, sample: str = DataRecipe.sample) -> Path:
    """Where a cell lies; runs on all of the data lie where they do without any fraction."""
    share = [] if fraction == 1 else [f"{sample}-{fraction:g}"]
    return out.joinpath(*name.split("/"), *share, f"seed{seed}")


def _names(recipes: Sequence[str]) -> dict[str, str]:
    """Names of the recipes, and what was given for each."""
    named: dict[str, str] = {}
    for given in recipes:
        name = name_of(given)
        if name in named:
            raise UserError(f"two recipes are called '{name}': leave one out, or rename its file")
        named[name] = given
    return named


def _against(chosen: str | None, given: Sequence[str], names: Sequence[str]) -> str:
    if chosen is None:
        return names[0]
    name = dict(zip(given, names, strict=True)).get(chosen, chosen)
    if name not in names:
        raise UserError(
            f"--against {chosen}: not among the recipes.{nearest(chosen, names)} Choose: {', '.join(names)}"
        )
    return name


def _check_kept(cell: Cell) -> None:
    """Refuse a folder with a run of another recipe, or with scores on other data of the same name."""
    if cell.run.recipe_file.is_file():
        differing = changed(asdict(cell.run.recipe()), asdict(cell.recipe))
        if differing:
            raise UserError(f"{cell.folder} was trained with another {', '.join(differing)}: choose another --out")
    for data in cell.sets:
        kept = cell.scores_file(data)
        if data.sha256 is not None and kept.is_file():
            scored = json.loads(kept.read_text(encoding="utf-8"))["data"]
            if scored["sha256"] != data.sha256:
                raise UserError(f"{kept} was made on another {data.name}: rename the file, or choose another --out")
