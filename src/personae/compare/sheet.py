"""The numbers of a comparison: from the scores that every cell kept to means, intervals and paired tests."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np

from personae.compare.grid import Cell, Plan, row_of
from personae.compare.sets import DataSet
from personae.compare.statistics import by_conversation
from personae.compare.table import Difference, Mean, Sheet
from personae.errors import UserError
from personae.evaluation import read_predictions
from personae.evaluation.scores import stamped
from personae.metrics import Metric, Score
from personae.metrics.bootstrap import Floats, Interval
from personae.metrics.paired import Paired, holm
from personae.metrics.perplexity import NatsPerToken
from personae.metrics.summed import Summed


@dataclass(frozen=True)
class Scored:
    """A cell's scores on one data set, as its file has them."""

    cell: Cell
    kept: Mapping[str, Any]

    @property
    def metrics(self) -> list[str]:
        """What was measured."""
        return list(self.kept["model"])

    @property
    def conversations(self) -> list[str]:
        """Names of the conversations (G)."""
        names: list[str] = self.kept["by_conversation"]["conversations"]
        return names

    def statistics(self, metric: str) -> Floats | None:
        """What ``metric`` rests on by conversation (G, K)."""
        rows = self.kept["by_conversation"]["statistics"].get(metric)
        return None if rows is None else np.array(rows, float)


def make_sheet(plan: Plan, data: DataSet) -> Sheet:
    """The scores of all finished cells on ``data``. Raises ``UserError`` where they are not of the same data."""
    scored = [Scored(cell, read_scores(cell, data)) for cell in plan.cells if cell.finished]
    _check_same(scored)
    by_row = {row: [each for each in scored if each.cell.row == row] for row in plan.rows}
    rows = {row: cells for row, cells in by_row.items() if cells}
    means = {row: dict(_means(cells)) for row, cells in rows.items()}
    pairs = [(row, row_of(plan.against, plan.rows[row][1])) for row in rows if plan.rows[row][0] != plan.against]
    differences = {row: dict(_differences(means, rows, row, base)) for row, base in pairs if base in rows}
    facts = scored[0].kept["data"] if scored else {}
    notes = dict.fromkeys(note for each in scored for note in each.kept["notes"])
    return Sheet(facts, means, _floors(scored), corrected(differences), plan.against, list(notes))


def read_scores(cell: Cell, data: DataSet) -> dict[str, Any]:
    """What the cell kept of its scores on ``data``; statistics of an older version are made anew from its replies."""
    kept: dict[str, Any] = json.loads(cell.scores_file(data).read_text(encoding="utf-8"))
    if not all(_current(metric, rows) for metric, rows in kept["by_conversation"]["statistics"].items()):
        replies = cell.replies_file(data)
        if not replies.is_file():
            raise UserError(
                f"{cell.scores_file(data)} was written by another version, and {replies} is gone: delete the first, "
                "and the same command scores it again"
            )
        kept["by_conversation"] = by_conversation(read_predictions(replies))
    return kept


def _current(metric: str, rows: Sequence[Sequence[float]]) -> bool:
    """Whether ``rows`` are what ``metric`` rests on in this version."""
    kind = Metric.build(metric)
    return not isinstance(kind, Summed) or len(rows[0]) == kind.width


def _check_same(scored: Sequence[Scored]) -> None:
    for each in scored[1:]:
        first = scored[0]
        if (each.kept["data"]["sha256"], each.conversations) != (first.kept["data"]["sha256"], first.conversations):
            raise UserError(
                f"{each.cell.label} was scored on other data than {first.cell.label}: give --data FILE, "
                "or choose another --out"
            )


def _means(cells: Sequence[Scored]) -> Iterator[tuple[str, Mean]]:
    """The metrics that every one of ``cells``, which differ in the seed, was scored by."""
    for metric in (name for name in cells[0].metrics if all(name in each.metrics for each in cells)):
        seeds = {each.cell.seed: float(each.kept["model"][metric]["value"]) for each in cells}
        value = fmean(seeds.values())
        deviation = stdev(seeds.values()) if len(seeds) > 1 else None
        yield metric, Mean(value, _interval(metric, value, cells), _signature(metric, cells), seeds, deviation)


def _differences(
    means: Mapping[str, Mapping[str, Mean]], rows: Mapping[str, Sequence[Scored]], row: str, against: str
) -> Iterator[tuple[str, Difference]]:
    """Metrics that both have, but for those that differ in meaning: per token of different vocabularies."""
    cells, base = rows[row], rows[against]
    for metric, mean in means[row].items():
        if metric in means[against] and comparable(metric, [*cells, *base]):
            gained = mean.value - means[against][metric].value
            found = _paired(metric, gained, cells, base)
            fields = {"less": _named(base), "p": found.test, "effect": "d_z"}
            interval, signature = _interval(metric, gained, cells, base), _signature(metric, cells, fields)
            yield metric, Difference(gained, interval, signature, found.p, None, found.effect)


def corrected(rows: Mapping[str, Mapping[str, Difference]]) -> dict[str, dict[str, Difference]]:
    """``rows`` with the p-values of each metric corrected for all of its tests; signatures say how many those are."""
    fixed = {row: dict(found) for row, found in rows.items()}
    for metric in {name for found in rows.values() for name in found}:
        family = [(row, found[metric], found[metric].p) for row, found in fixed.items() if metric in found]
        tested = [(row, each, p) for row, each, p in family if p is not None]
        for (row, each, _), p in zip(tested, holm([p for *_, p in tested]), strict=True):
            stamp = stamped(Score(0.0, each.signature), {"holm": len(tested)}).signature
            fixed[row][metric] = replace(each, p_holm=p, signature=stamp)
    return fixed


def _paired(metric: str, value: float, cells: Sequence[Scored], less: Sequence[Scored]) -> Paired:
    sides = _statistics(metric, cells), _statistics(metric, less)
    return Metric.build(metric).paired(value, *sides) if all(sides) else Paired()


def _statistics(metric: str, cells: Sequence[Scored]) -> list[Floats]:
    """What ``metric`` rests on in every one of ``cells``; nothing where one of them has none."""
    known = [rows for rows in (each.statistics(metric) for each in cells) if rows is not None]
    return known if len(known) == len(cells) else []


def _interval(metric: str, value: float, cells: Sequence[Scored], less: Sequence[Scored] = ()) -> Interval:
    runs, others = _statistics(metric, cells), _statistics(metric, less)
    if not runs or (less and not others):
        return None
    return Metric.build(metric).interval(cells[0].conversations, value, runs, others)


def comparable(metric: str, cells: Sequence[Scored]) -> bool:
    """Whether ``metric`` means the same for all: a mean per token does not where they cut words differently."""
    if not issubclass(Metric.get(metric), NatsPerToken):
        return True
    counts = [rows[:, 1] for rows in (each.statistics(metric) for each in cells) if rows is not None]
    return all(np.array_equal(each, counts[0]) for each in counts)


def _signature(metric: str, cells: Sequence[Scored], more: Mapping[str, object] | None = None) -> str:
    """The signature of the first seed's score, with whose mean it is."""
    first = Score(0.0, str(cells[0].kept["model"][metric]["signature"]))
    return stamped(first, {"mean": _named(cells), **(more or {})}).signature


def _named(cells: Sequence[Scored]) -> str:
    return f"{cells[0].cell.row.replace(' at ', '@')},seeds={'+'.join(str(each.cell.seed) for each in cells)}"


def _floors(scored: Sequence[Scored]) -> dict[str, dict[str, Mean]]:
    """Every floor once; one that differs between cells, as it does with the training data, once for each."""
    rows: dict[str, dict[str, Mean]] = {}
    for each in scored:
        for name, scores in each.kept["floors"].items():
            floor = {metric: _floor(score) for metric, score in scores.items()}
            known = [row for key, row in rows.items() if key == name or key.startswith(f"{name} (")]
            if floor not in known:
                rows[f"{name} ({each.cell.label})" if known else name] = floor
    return rows


def _floor(score: Mapping[str, Any]) -> Mean:
    low_high = score["interval"]
    interval = None if low_high is None else (float(low_high[0]), float(low_high[1]))
    return Mean(float(score["value"]), interval, str(score["signature"]))
