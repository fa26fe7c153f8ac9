"""What drift writes: curves as JSON, a table and a picture, and every conversation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from personae.drift.curve import MEASURES, Curve
from personae.drift.plot import draw
from personae.runs import write_json

Curves = Mapping[str, Curve]


def write_drift(folder: Path, curves: Curves, facts: Mapping[str, Any]) -> list[Path]:
    """Write ``drift.json``, ``drift.md``, ``drift.png`` and ``conversations.jsonl``; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [write_json(folder / "drift.json", as_dict(curves, facts))]
    table = folder / "drift.md"
    table.write_text(markdown(curves), encoding="utf-8")
    said = folder / "conversations.jsonl"
    said.write_text("".join(lines(curves)), encoding="utf-8")
    return [*written, table, draw(curves, folder / "drift.png"), said]


def as_dict(curves: Curves, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The content of ``drift.json``."""
    return {**facts, "runs": {name: [point.as_dict() for point in curve.points] for name, curve in curves.items()}}


def grid(curves: Curves, measure: str) -> tuple[list[str], list[list[str]]]:
    """One table: turns as columns, runs as rows."""
    first = next(iter(curves.values()))
    columns = ["turn", *(str(point.turn) for point in first.points)]
    rows = []
    for name, curve in curves.items():
        cells = [point.scores.get(measure) for point in curve.points]
        rows.append([name, *("-" if each is None else shown(each.value, each.interval) for each in cells)])
    return columns, rows


def shown(value: float, interval: tuple[float, float] | None) -> str:
    """``0.961 [0.94, 0.98]``."""
    return f"{value:.3f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def markdown(curves: Curves) -> str:
    """A table for each measure."""
    texts = []
    for measure in measures(curves):
        columns, rows = grid(curves, measure)
        table = [columns, ["---"] * len(columns), *rows]
        texts.append(f"## {MEASURES[measure]}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in table))
    return "\n".join(texts)


def measures(curves: Curves) -> list[str]:
    """What was measured of any run."""
    return [name for name in MEASURES if any(name in curve.measures for curve in curves.values())]


def lines(curves: Curves) -> list[str]:
    """One conversation a line."""
    records = [
        {"run": name, "id": each.cast.name, "personae": each.cast.personae, "opener": each.opener, "turns": each.turns}
        for name, curve in curves.items()
        for each in curve.conversations
    ]
    return [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
