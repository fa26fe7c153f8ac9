"""What came out of a comparison: means over seeds, their intervals, and paired differences to one recipe."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

import numpy as np

from personae.compare.grid import Cell, Plan
from personae.compare.sets import DataSet
from personae.errors import UserError
from personae.evaluation.scores import stamped
from personae.metrics import Metric, Score
from personae.metrics.bootstrap import Floats, Interval
from personae.metrics.perplexity import NatsPerToken


@dataclass(frozen=True)
class Mean:
    """A metric of one recipe: the mean over its seeds.

    ``interval``: 95 % by conversation, for these seeds; ``seeds``: the value of each; ``deviation``: standard
    deviation between seeds, n - 1 in the denominator (None: one seed).
    """

    value: float
    interval: Interval
    signature: str
    seeds: Mapping[int, float] = field(default_factory=dict)
    deviation: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = {"value": self.value, "interval": self.interval, "deviation": self.deviation}
        return {**plain, "seeds": {str(seed): value for seed, value in self.seeds.items()}, "signature": self.signature}


@dataclass(frozen=True)
class Difference:
    """What the mean of a recipe has over that of another, and the 95 % interval of that by paired conversations."""

    value: float
    interval: Interval
    signature: str

    @property
    def inside_the_noise(self) -> bool | None:
        """Whether the interval contains 0 (None: no interval)."""
        return self.interval and self.interval[0] <= 0 <= self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = {"value": self.value, "interval": self.interval, "inside_the_noise": self.inside_the_noise}
        return {**plain, "signature": self.signature}


@dataclass(frozen=True)
class Sheet:
    """One data set: means by recipe and metric, floors, and differences to the recipe ``against``."""

    data: Mapping[str, Any]
    means: Mapping[str, Mapping[str, Mean]]
    floors: Mapping[str, Mapping[str, Mean]]
    differences: Mapping[str, Mapping[str, Difference]]
    against: str
    notes: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        """Everything that was measured."""
        return list(dict.fromkeys(name for means in self.means.values() for name in means))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "data": dict(self.data),
            "means": plain(self.means),
            "floors": plain(self.floors),
            "differences": {"against": self.against, "to": plain(self.differences)},
            "notes": list(self.notes),
        }


def plain(rows: Mapping[str, Mapping[str, Mean | Difference]]) -> dict[str, Any]:
    """Rows of means or differences as dicts."""
    return {row: {name: each.as_dict() for name, each in columns.items()} for row, columns in rows.items()}


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
    scored = [
        Scored(cell, json.loads(cell.scores_file(data).read_text(encoding="utf-8")))
        for cell in plan.cells
        if cell.finished
    ]
    _check_same(scored)
    by_recipe = {name: [each for each in scored if each.cell.name == name] for name in plan.recipes}
    rows = {name: cells for name, cells in by_recipe.items() if cells}
    means = {name: dict(_means(cells)) for name, cells in rows.items()}
    pairs = [(name, plan.against) for name in rows if name != plan.against and plan.against in rows]
    differences = {name: dict(_differences(means, rows, name, base)) for name, base in pairs}
    facts = scored[0].kept["data"] if scored else {}
    notes = dict.fromkeys(note for each in scored for note in each.kept["notes"])
    return Sheet(facts, means, _floors(scored), differences, plan.against, list(notes))


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
    means: Mapping[str, Mapping[str, Mean]], rows: Mapping[str, Sequence[Scored]], name: str, against: str
) -> Iterator[tuple[str, Difference]]:
    """Metrics that both have, but for those that differ in meaning: per token of different vocabularies."""
    cells, base = rows[name], rows[against]
    for metric, mean in means[name].items():
        if metric in means[against] and comparable(metric, [*cells, *base]):
            gained = mean.value - means[against][metric].value
            signature = _signature(metric, cells, {"less": _named(base)})
            yield metric, Difference(gained, _interval(metric, gained, cells, base), signature)


def _interval(metric: str, value: float, cells: Sequence[Scored], less: Sequence[Scored] = ()) -> Interval:
    runs, others = ([each.statistics(metric) for each in side] for side in (cells, less))
    known = [each for each in (*runs, *others) if each is not None]
    if len(known) < len(runs) + len(others):
        return None
    return Metric.build(metric).interval(cells[0].conversations, value, known[: len(runs)], known[len(runs) :])


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
    return f"{cells[0].cell.name},seeds={'+'.join(str(each.cell.seed) for each in cells)}"


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
