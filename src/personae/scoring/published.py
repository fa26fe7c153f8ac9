"""Published numbers, as the papers print them: data that stands beside measured numbers and never among them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from personae.errors import UserError, nearest


@dataclass(frozen=True)
class Meaning:
    """What a published metric is: ``ours``, the metric here that measures the same, or how it ``differs``."""

    ours: str | None
    differs: str | None


@dataclass(frozen=True)
class Table:
    """One table of a paper on one data set: ``rows`` of values by the metric's name as published."""

    key: str
    paper: str
    table: str
    dataset: str
    rows: Mapping[str, Mapping[str, float]]
    metrics: Mapping[str, Meaning]

    @property
    def columns(self) -> list[str]:
        """The metrics, as published."""
        return list(dict.fromkeys(name for values in self.rows.values() for name in values))

    def as_dict(self) -> list[dict[str, Any]]:
        """One record for each number, for JSON."""
        return [
            {
                **{"paper": self.paper, "table": self.table, "dataset": self.dataset, "row": row},
                **{"metric": name, "value": value, **vars(self.metrics[name])},
            }
            for row, values in self.rows.items()
            for name, value in values.items()
        ]


def published(dataset: str) -> list[Table]:
    """The tables on ``dataset``; an unknown one is a ``UserError`` that lists the choices."""
    choices = published_datasets()
    if dataset not in choices:
        raise UserError(
            f"no published numbers on '{dataset}'.{nearest(dataset, choices)} Choose one of: {', '.join(choices)}"
        )
    return [table for table in every_table() if table.dataset == dataset]


def published_datasets() -> list[str]:
    """The data sets that published numbers are at hand for, sorted."""
    return sorted({table.dataset for table in every_table()})


@cache
def every_table() -> tuple[Table, ...]:
    """Every table of every paper."""
    folder = Path(str(resources.files("personae"))) / "published"
    return tuple(table for path in sorted(folder.glob("*.json")) for table in read(path))


def read(path: Path) -> list[Table]:
    """The tables of one paper's file; where one name means two things, a table has ``metrics`` of its own."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return [
        Table(
            key=path.stem,
            paper=content["paper"],
            table=each["table"],
            dataset=each["dataset"],
            rows={row["row"]: row["values"] for row in each["rows"]},
            metrics={
                name: Meaning(**meaning) for name, meaning in {**content["metrics"], **each.get("metrics", {})}.items()
            },
        )
        for each in content["tables"]
    ]
