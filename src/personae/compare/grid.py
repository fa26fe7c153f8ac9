"""Which runs a comparison needs: every recipe with every seed, each in a folder of its own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from personae.compare.sets import DataSet, choose_sets
from personae.errors import UserError, nearest
from personae.recipe import Recipe, load_recipe, make_recipe, shipped
from personae.runs import Run
from personae.training import changed


@dataclass(frozen=True, eq=False)
class Cell:
    """One recipe with one seed: a run in ``folder``, beside it its scores on every one of ``sets``."""

    name: str
    seed: int
    recipe: Recipe
    folder: Path
    sets: tuple[DataSet, ...]

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.name} seed {self.seed}"

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
        return cls(values["name"], values["seed"], make_recipe(values["recipe"]), Path(values["folder"]), sets)


@dataclass(frozen=True)
class Plan:
    """What is compared: the recipes by name, where, the cells, what they are scored on, and against which."""

    out: Path
    recipes: Mapping[str, Recipe]
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]
    sets: tuple[DataSet, ...]
    against: str
    overrides: tuple[str, ...] = ()


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
) -> Plan:
    """Read everything that a comparison rests on, and check it against what ``out`` holds already.

    ``seeds``: how many, from 0 on; ``data``, ``reader``, ``limit``: see ``choose_sets``; ``against``: the recipe
    that the others are compared with (None: the first). Raises ``UserError`` for what can be known to be wrong
    before anything is trained.
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
    sets = choose_sets(read, data, reader, limit)
    cells = tuple(
        Cell(name, seed, load_recipe(given, [*overrides, f"train.seed={seed}"]), folder_of(out, name, seed), sets)
        for name, given in _names(recipes).items()
        for seed in range(seeds)
    )
    for cell in cells:
        _check_kept(cell)
    return Plan(out, read, tuple(range(seeds)), cells, sets, base, tuple(overrides))


def name_of(recipe: str) -> str:
    """``interview/paa`` for a shipped recipe, ``mine`` for ``somewhere/mine.yaml``."""
    return recipe if recipe in shipped() else Path(recipe).stem


def folder_of(out: Path, name: str, seed: int) -> Path:
    """Where a cell lies."""
    return out.joinpath(*name.split("/"), f"seed{seed}")


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
