"""The whole of a comparison: how each recipe was trained, its scores on every data set, and what failed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from personae.compare.grid import Plan
from personae.compare.notes import all_notes
from personae.compare.sheet import make_sheet
from personae.compare.table import Sheet
from personae.compare.trained import Trained, make_trained
from personae.evaluation.settings import versions
from personae.metrics import Metric


@dataclass(frozen=True)
class Comparison:
    """Recipes by row, sheets by data set, and one line for each cell that failed.

    ``fractions``, ``sample``: the shares of the training data and how they were chosen (empty: none in the grid).
    """

    trained: Mapping[str, Trained]
    sheets: Mapping[str, Sheet]
    against: str
    seeds: Sequence[int]
    overrides: Sequence[str]
    failed: Mapping[str, str]
    notes: Sequence[str]
    fractions: Sequence[float] = ()
    sample: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The content of ``table.json``."""
        return {
            "against": self.against,
            "seeds": list(self.seeds),
            **({"fractions": list(self.fractions), "sample": self.sample} if self.fractions else {}),
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
    by_row = {row: [cell for cell in done if cell.row == row] for row in plan.rows}
    trained = {row: make_trained(plan.out, cells) for row, cells in by_row.items() if cells}
    sheets = {data.name: make_sheet(plan, data) for data in plan.sets} if done else {}
    notes = all_notes(plan, trained)
    shares = (plan.fractions, plan.sample if plan.fractions else "")
    return Comparison(trained, sheets, plan.against, plan.seeds, plan.overrides, failed, notes, *shares)


def sort_rows(comparison: Comparison, metric: str) -> Comparison:
    """``comparison`` with the rows of each data set best first by ``metric``, fraction by fraction.

    Rows without it go last. A data set on which it was not measured keeps its order, and a note says so.
    """
    sheets, notes = {}, list(comparison.notes)
    for name, sheet in comparison.sheets.items():
        sheets[name] = _sorted(sheet, metric, comparison.trained)
        if metric not in sheet.metrics:
            notes.append(f"{name} is in the order given: {metric} is not measured on it")
    return replace(comparison, sheets=sheets, notes=notes)


def _sorted(sheet: Sheet, metric: str, trained: Mapping[str, Trained]) -> Sheet:
    sign = 1 if Metric.get(metric).higher_is_better is False else -1

    def key(row: str) -> tuple[float, bool, float]:
        mean = sheet.means[row].get(metric)
        return trained[row].fraction, mean is None, 0.0 if mean is None else sign * mean.value

    order = sorted(sheet.means, key=key) if metric in sheet.metrics else list(sheet.means)
    differences = {row: sheet.differences[row] for row in order if row in sheet.differences}
    return replace(sheet, means={row: sheet.means[row] for row in order}, differences=differences)
