"""A comparison in words: notes, signatures, and all of it as Markdown."""

from collections.abc import Mapping, Sequence

from personae.compare.cells import NOISE, UNLIKE
from personae.compare.comparison import Comparison
from personae.compare.grids import Grid, grids
from personae.compare.table import ALPHA, Difference, Mean
from personae.metrics import Metric

MAIN = ("nats_per_byte", "f1", "persona_accuracy", "context_accuracy", "both_accuracy")
LEGEND = (
    "value [95 % interval by conversation, for these seeds] ± standard deviation between seeds; "
    "↑ more is better, ↓ less is better; the best recipe is bold, whether or not it can be told from the next"
)
TESTS = (
    "differences: [95 % interval of each alone]; p: two-sided, paired by conversation, Holm-corrected for all "
    "differences of the same metric on the same data; d: Cohen's d_z, the difference / its standard deviation between "
    f"conversations; '{NOISE}': p is {ALPHA:g} or more"
)


def choose_metrics(comparison: Comparison, chosen: Sequence[str] = ()) -> list[str]:
    """The metrics of the tables: ``chosen``, or those of ``MAIN`` that were measured. Unknown ones: ``UserError``."""
    if chosen:
        return [Metric.get(name).name for name in dict.fromkeys(chosen)]
    measured = {name for sheet in comparison.sheets.values() for name in sheet.metrics}
    return [name for name in MAIN if name in measured]


def footnotes(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """What a reader of the tables should know, in sentences."""
    notes = [LEGEND, *test_notes(comparison, metrics), *comparison.notes]
    for name, sheet in comparison.sheets.items():
        notes += [f"{name}: {note}" for note in sheet.notes]
        notes += [f"{metric} is not measured on {name}" for metric in metrics if metric not in sheet.metrics]
        if any(set(metrics) & {*sheet.metrics} - {*found} for found in sheet.differences.values()):
            notes.append(f"{name}: '{UNLIKE}' means two vocabularies, or that only one of both was scored so")
    return notes


def test_notes(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """How differences were tested, if there are any."""
    tests = dict.fromkeys(
        signature_field(found[metric].signature, "p")
        for sheet in comparison.sheets.values()
        for found in sheet.differences.values()
        for metric in metrics
        if metric in found
    )
    return [f"{TESTS}; test: {', '.join(tests)}"] if tests else []


def signature_field(signature: str, key: str) -> str:
    """The value of ``key`` in a signature."""
    return next(field.partition(":")[2] for field in signature.split("|") if field.startswith(f"{key}:"))


def signatures(comparison: Comparison, metrics: Sequence[str], only: str | None = None) -> list[str]:
    """One signature for each number of the recipes' rows, or for the means of the recipe ``only``."""
    rows: list[Mapping[str, Mean | Difference]] = []
    for sheet in comparison.sheets.values():
        rows += [means for name, means in sheet.means.items() if only in (None, name)]
        rows += sheet.differences.values() if only is None else []
    return [row[metric].signature for row in rows for metric in metrics if metric in row]


def markdown(comparison: Comparison, metrics: Sequence[str]) -> str:
    """The content of ``table.md``."""
    parts = [f"# {', '.join(dict.fromkeys(each.name for each in comparison.trained.values())) or 'no finished run'}"]
    for grid in grids(comparison, metrics):
        parts += [f"## {grid.title}", markdown_table(grid)]
    failed = [f"{label} failed: {line}" for label, line in comparison.failed.items()]
    parts.append("\n".join(f"- {note}" for note in (*footnotes(comparison, metrics), *failed)))
    signed = "\n".join(signatures(comparison, metrics))
    return "\n\n".join([*parts, f"```\n{signed}\n```"]) + "\n"


def markdown_table(grid: Grid) -> str:
    """A pipe table."""
    rows = [
        [f"**{cell}**" if (at, column) in grid.best else cell for column, cell in enumerate(row)]
        for at, row in enumerate(grid.rows)
    ]
    lines = [grid.columns, ["---"] * len(grid.columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
