"""A comparison as text: the cells of its tables, and the tables as Markdown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from personae.compare.comparison import Comparison, Trained
from personae.compare.table import Difference, Mean, Sheet
from personae.metrics import Metric

MAIN = ("nats_per_byte", "f1", "persona_accuracy", "context_accuracy", "both_accuracy")
NOISE = "inside the noise"
UNLIKE = "not comparable"
LEGEND = (
    "value [95 % interval by conversation, for these seeds] ± standard deviation between seeds; "
    "↑ more is better, ↓ less is better"
)


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def choose_metrics(comparison: Comparison, chosen: Sequence[str] = ()) -> list[str]:
    """The metrics of the tables: ``chosen``, or those of ``MAIN`` that were measured. Unknown ones: ``UserError``."""
    if chosen:
        return [Metric.get(name).name for name in dict.fromkeys(chosen)]
    measured = {name for sheet in comparison.sheets.values() for name in sheet.metrics}
    return [name for name in MAIN if name in measured]


def grids(comparison: Comparison, metrics: Sequence[str]) -> Iterator[Grid]:
    """Two tables for each data set: means beside the floors, and differences."""
    for name, sheet in comparison.sheets.items():
        yield means_grid(name, sheet, comparison.trained, metrics)
        if sheet.differences:
            yield differences_grid(name, sheet, metrics)


def means_grid(name: str, sheet: Sheet, trained: Mapping[str, Trained], metrics: Sequence[str]) -> Grid:
    """Recipes and floors, one row each."""
    size = f"{sheet.data['examples']:,} examples of {sheet.data['conversations']:,} conversations"
    columns = ("", *map(arrowed, metrics), "parameters", "steps", "seconds")
    rows = [
        (recipe, *(mean_text(means.get(metric)) for metric in metrics), *effort(trained[recipe]))
        for recipe, means in sheet.means.items()
    ]
    for floor, means in sheet.floors.items():
        if any(metric in means for metric in metrics):
            rows.append((floor, *(mean_text(means.get(metric)) for metric in metrics), "-", "-", "-"))
    return Grid(f"{name}: {size}", columns, rows)


def differences_grid(name: str, sheet: Sheet, metrics: Sequence[str]) -> Grid:
    """What each recipe has over the one that it is compared with."""
    rows = [
        (recipe, *(difference_text(found.get(metric)) if metric in sheet.metrics else "-" for metric in metrics))
        for recipe, found in sheet.differences.items()
    ]
    title = f"{name}: difference to {sheet.against} [95 % interval, paired by conversation]"
    return Grid(title, ("", *map(arrowed, metrics)), rows)


def arrowed(metric: str) -> str:
    """A metric's name with the direction that is better, if one is."""
    better = Metric.get(metric).higher_is_better
    return metric if better is None else f"{metric} {'↑' if better else '↓'}"


def effort(trained: Trained) -> tuple[str, str, str]:
    """Parameters, steps and seconds of a recipe's runs."""
    seconds = "-" if trained.seconds is None else f"{trained.seconds:,.0f}"
    return span(list(trained.parameters.values())), span(list(trained.steps.values())), seconds


def span(numbers: Sequence[int]) -> str:
    """One number where all are equal, else the least and the greatest."""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def mean_text(mean: Mean | None) -> str:
    """A mean with its interval and its deviation: ``0.2500 [0.230, 0.270] ± 0.011``."""
    if mean is None:
        return "-"
    whole = len(str(int(abs(mean.value)))) if 1 <= abs(mean.value) < math.inf else 0
    places = max(0, 4 - whole)
    spread = "" if mean.deviation is None else f" ± {mean.deviation:,.{decimals(mean.deviation, 2)}f}"
    return f"{mean.value:,.{places}f}{bounds(mean.interval, max(0, places - 1))}{spread}"


def difference_text(difference: Difference | None) -> str:
    """A difference with its interval, three digits of the largest, and whether it can be told from none."""
    if difference is None:
        return UNLIKE
    places = decimals(max(map(abs, (difference.value, *(difference.interval or ())))), 3)
    mark = {True: f", {NOISE}", False: "", None: ", no interval"}[difference.inside_the_noise]
    return f"{difference.value:+,.{places}f}{bounds(difference.interval, places, '+')}{mark}"


def decimals(value: float, digits: int) -> int:
    """Decimals that show so many ``digits`` of ``value``, 12 at most."""
    if not value or not math.isfinite(value):
        return 0
    return min(12, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def bounds(interval: tuple[float, float] | None, places: int, sign: str = "") -> str:
    """An interval in brackets."""
    if interval is None:
        return ""
    low, high = (f"{bound:{sign},.{places}f}" for bound in interval)
    return f" [{low}, {high}]"


def footnotes(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """What a reader of the tables should know, in sentences."""
    notes = [LEGEND, *comparison.notes]
    for name, sheet in comparison.sheets.items():
        notes += [f"{name}: {note}" for note in sheet.notes]
        notes += [f"{metric} is not measured on {name}" for metric in metrics if metric not in sheet.metrics]
        if any(set(metrics) & {*sheet.metrics} - {*found} for found in sheet.differences.values()):
            notes.append(f"{name}: '{UNLIKE}' means two vocabularies, or that only one of both was scored so")
    return notes


def signatures(comparison: Comparison, metrics: Sequence[str], only: str | None = None) -> list[str]:
    """One signature for each number of the recipes' rows, or for the means of the recipe ``only``."""
    rows: list[Mapping[str, Mean | Difference]] = []
    for sheet in comparison.sheets.values():
        rows += [means for name, means in sheet.means.items() if only in (None, name)]
        rows += sheet.differences.values() if only is None else []
    return [row[metric].signature for row in rows for metric in metrics if metric in row]


def markdown(comparison: Comparison, metrics: Sequence[str]) -> str:
    """The content of ``table.md``."""
    parts = [f"# {', '.join(comparison.trained) or 'no finished run'}"]
    for grid in grids(comparison, metrics):
        parts += [f"## {grid.title}", markdown_table(grid)]
    failed = [f"{label} failed: {line}" for label, line in comparison.failed.items()]
    parts.append("\n".join(f"- {note}" for note in (*footnotes(comparison, metrics), *failed)))
    signed = "\n".join(signatures(comparison, metrics))
    return "\n\n".join([*parts, f"```\n{signed}\n```"]) + "\n"


def markdown_table(grid: Grid) -> str:
    """A pipe table."""
    lines = [grid.columns, ["---"] * len(grid.columns), *grid.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
