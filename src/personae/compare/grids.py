"""The tables of a comparison, whatever form they then take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from personae.compare.cells import NOTHING, arrowed, difference_text, mean_text, span
from personae.compare.comparison import Comparison
from personae.compare.table import Sheet
from personae.metrics import Metric

COSTS = ("parameters", "steps", "seconds")
GAP = 3  # characters between columns


@dataclass(frozen=True)
class Grid:
    """A table of texts: ``keys`` columns that say whose a row is, then numbers; ``best``: (row, column) in bold."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    keys: int = 1


def grids(comparison: Comparison, metrics: Sequence[str]) -> Iterator[Grid]:
    """For each data set means beside the floors, and differences; then what training cost."""
    for name, sheet in comparison.sheets.items():
        yield means_grid(name, sheet, comparison, metrics)
        if sheet.differences:
            yield differences_grid(name, sheet, comparison, metrics)
    if comparison.trained:
        yield training_grid(comparison)


def means_grid(name: str, sheet: Sheet, comparison: Comparison, metrics: Sequence[str]) -> Grid:
    """Recipes and floors, one row each."""
    size = f"{sheet.data['examples']:,} examples of {sheet.data['conversations']:,} conversations"
    keys = key_columns(comparison)
    rows = [
        (*key_cells(row, comparison), *(mean_text(means.get(metric)) for metric in metrics), *effort(row, comparison))
        for row, means in sheet.means.items()
    ]
    for floor, means in sheet.floors.items():
        if any(metric in means for metric in metrics):
            values = (mean_text(means.get(metric)) for metric in metrics)
            rows.append((floor, *[""] * (len(keys) - 1), *values, *[NOTHING] * len(COSTS)))
    best = {
        (list(sheet.means).index(row), len(keys) + at)
        for at, metric in enumerate(metrics)
        for row in best_rows(sheet, comparison, metric)
    }
    return Grid(f"{name}: {size}", (*keys, *map(arrowed, metrics), *COSTS), rows, frozenset(best), len(keys))


def differences_grid(name: str, sheet: Sheet, comparison: Comparison, metrics: Sequence[str]) -> Grid:
    """What each recipe has over the one that it is compared with."""
    rows = [
        (
            *key_cells(row, comparison),
            *(difference_text(found.get(metric)) if metric in sheet.metrics else NOTHING for metric in metrics),
        )
        for row, found in sheet.differences.items()
    ]
    same = " at the same fraction" if comparison.fractions else ""
    keys = key_columns(comparison)
    return Grid(f"{name}: difference to {sheet.against}{same}", (*keys, *map(arrowed, metrics)), rows, keys=len(keys))


def training_grid(comparison: Comparison) -> Grid:
    """What the recipes were trained on, and what that cost; means over seeds."""
    keys = key_columns(comparison)
    rows = []
    for row, trained in comparison.trained.items():
        sizes = (span([cell.get(key) for cell in trained.cells]) for key in ("conversations", "examples"))
        rate = NOTHING if trained.rate is None else f"{trained.rate:,}"
        rows.append(
            (*key_cells(row, comparison), *sizes, *effort(row, comparison), rate, ", ".join(trained.devices) or NOTHING)
        )
    columns = (*keys, "conversations", "examples", *COSTS, "tokens/s", "device")
    return Grid("training: seconds include validation", columns, rows, keys=len(keys))


def key_columns(comparison: Comparison) -> tuple[str, ...]:
    """The heads of the columns that say whose a row is."""
    return ("", "fraction") if comparison.fractions else ("",)


def key_cells(row: str, comparison: Comparison) -> tuple[str, ...]:
    """Recipe and, where there are any, fraction of a row."""
    trained = comparison.trained[row]
    return (trained.name, f"{trained.fraction:g}") if comparison.fractions else (trained.name,)


def best_rows(sheet: Sheet, comparison: Comparison, metric: str) -> list[str]:
    """The rows with the best mean at their fraction; none where values of different meaning stand in one column.

    None either where neither more nor less is better.
    """
    better = Metric.get(metric).higher_is_better
    if better is None or any(metric not in found for found in sheet.differences.values()):
        return []
    values = {row: means[metric].value for row, means in sheet.means.items() if metric in means}
    choose = max if better else min
    best = []
    for fraction in {comparison.trained[row].fraction for row in values}:
        beside = [row for row in values if comparison.trained[row].fraction == fraction]
        top = choose(values[row] for row in beside)
        tied = [row for row in beside if values[row] == top]
        best += tied if len(tied) < len(beside) else []
    return best


def fitted(grid: Grid, width: int) -> Iterator[Grid]:
    """``grid`` in parts of no more than ``width`` characters where that can be, each with the key columns."""
    widths = [max(len(row[at]) for row in (grid.columns, *grid.rows)) + GAP for at in range(len(grid.columns))]
    room = width - sum(widths[: grid.keys])
    parts: list[list[int]] = [[]]
    for at in range(grid.keys, len(widths)):
        if parts[-1] and sum(widths[each] for each in [*parts[-1], at]) > room:
            parts.append([])
        parts[-1].append(at)
    for part in parts:
        yield chosen_columns(grid, [*range(grid.keys), *part])


def chosen_columns(grid: Grid, columns: Sequence[int]) -> Grid:
    """``grid`` with these columns only; rows that have nothing in them are left out."""
    rows = [[row[at] for at in columns] for row in grid.rows]
    kept = [at for at, row in enumerate(rows) if any(cell != NOTHING for cell in row[grid.keys :])]
    best = {(kept.index(row), columns.index(column)) for row, column in grid.best if row in kept and column in columns}
    heads = [grid.columns[at] for at in columns]
    return Grid(grid.title, heads, [rows[at] for at in kept], frozenset(best), grid.keys)


def effort(row: str, comparison: Comparison) -> tuple[str, str, str]:
    """Parameters, steps and seconds of the runs of a row: ``COSTS``."""
    trained = comparison.trained[row]
    seconds = NOTHING if trained.seconds is None else f"{trained.seconds:,.0f}"
    return span(list(trained.parameters.values())), span(list(trained.steps.values())), seconds
