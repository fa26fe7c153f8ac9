"""The data sets that every run of a comparison is scored on, the same for all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personae.data.interview import DEFAULT_SIZES
from personae.data.load import load
from personae.errors import UserError
from personae.recipe import Recipe

TRAINED_ON = ("train", "valid")


@dataclass(frozen=True)
class DataSet:
    """Files that are scored together, under one name.

    ``reader``: None to guess; ``limit``: the first so many examples (None: all); ``sha256``: hash of the files'
    bytes, None where each run generates them itself: ``paths`` then lie in its folder.
    """

    name: str
    paths: tuple[str, ...]
    reader: str | None = None
    limit: int | None = None
    sha256: str | None = None

    def files(self, folder: Path) -> list[Path]:
        """The paths, for the run in ``folder``."""
        return [folder / path if self.sha256 is None else Path(path) for path in self.paths]


def choose_sets(
    recipes: Mapping[str, Recipe], data: Sequence[Path], reader: str | None, limit: int | None
) -> tuple[DataSet, ...]:
    """One data set for each file of ``data``; without any, what the recipes themselves name.

    Everything that can be read now is read now, before hours of training. Raises ``UserError`` for a file that
    cannot be read, and where the recipes name different data.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit={limit}: score at least 1 example")
    if reader is not None and not data:
        raise UserError("--reader says how --data is read: give --data FILE too")
    first, *others = recipes.values()
    if data:
        return tuple(_read(_named(path.stem, limit), [path], reader, limit, first) for path in _distinct(data))
    for name, other in zip(list(recipes)[1:], others, strict=True):
        if _own(other) != _own(first):
            raise UserError(f"{name} and {next(iter(recipes))} name different data to score on: give --data FILE")
    return _sets_of(first, limit)


def _sets_of(recipe: Recipe, limit: int | None) -> tuple[DataSet, ...]:
    """The test splits of a generated corpus, or the recipe's validation files."""
    if recipe.data.generate is not None:
        splits = _test_splits(recipe.data.generate)
        return tuple(DataSet(_named(split, limit), (f"data/{split}.jsonl",), "jsonl", limit) for split in splits)
    if not recipe.data.valid:
        raise UserError(
            "data.holdout keeps other conversations for each seed: give --data FILE to score all on the same"
        )
    return (
        _read(_named("valid", limit), [Path(path) for path in recipe.data.valid], recipe.data.reader, limit, recipe),
    )


def _test_splits(generate: Mapping[str, Any]) -> list[str]:
    """Splits with conversations that no training looks at; validation where there is none."""
    sizes = generate.get("sizes")
    chosen = sizes if isinstance(sizes, Mapping) else DEFAULT_SIZES  # training says what else is wrong with it
    return [name for name, size in chosen.items() if size and name not in TRAINED_ON] or ["valid"]


def _own(recipe: Recipe) -> tuple[Any, ...]:
    """What decides the data that a recipe is scored on by default."""
    data = recipe.data
    return (data.generate,) if data.generate is not None else (data.valid, data.reader, data.on_error)


def _distinct(data: Sequence[Path]) -> Sequence[Path]:
    stems = [path.stem for path in data]
    for stem in stems:
        if stems.count(stem) > 1:
            raise UserError(f"two files of --data are called '{stem}': rename one, scores are kept under that name")
    return data


def _named(name: str, limit: int | None) -> str:
    """Scores on the first examples only stand apart from those on the whole."""
    return name if limit is None else f"{name}-first-{limit}"


def _read(name: str, paths: Sequence[Path], reader: str | None, limit: int | None, recipe: Recipe) -> DataSet:
    loaded = load(paths, reader, recipe.data.on_error)
    return DataSet(name, tuple(map(str, paths)), reader, limit, loaded.sha256)
