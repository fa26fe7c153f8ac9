"""`personae list`: what can be chosen by name."""

import importlib
from collections.abc import Callable
from typing import Annotated, Any

import typer

from personae.cli import show
from personae.errors import UserError, nearest

Rows = list[dict[str, str]]


def registered(module: str, base: str) -> Callable[[], Rows]:
    """Return a function that lists the registry ``base`` of ``module``, imported when it is called."""

    def rows() -> Rows:
        registry: Any = getattr(importlib.import_module(module), base)
        return [{"name": name, "summary": registry.get(name).summary()} for name in registry.names()]

    return rows


def recipes() -> Rows:
    """List the recipes that the package ships, each with its first comment line, the launch command."""
    shipped = importlib.import_module("personae.recipe").shipped()
    return [
        {"name": name, "summary": path.read_text(encoding="utf-8").split("\n")[0].lstrip("# ")}
        for name, path in sorted(shipped.items())
    ]


def published() -> Rows:
    """List every row of every published table, by data set, paper and table."""
    tables = importlib.import_module("personae.scoring.published").every_table()
    return [
        {
            "name": f"{table.dataset}: {table.key}, {table.table}: {row}",
            "summary": ", ".join(f"{name} {value}" for name, value in values.items()),
        }
        for table in sorted(tables, key=lambda table: table.dataset)
        for row, values in table.rows.items()
    ]


KINDS: dict[str, Callable[[], Rows]] = {
    "fusions": registered("personae.fusion", "Fusion"),
    "models": registered("personae.models.base", "DialogueModel"),
    "readers": registered("personae.data", "Reader"),
    "subsets": registered("personae.data.subset", "Subset"),
    "metrics": registered("personae.metrics", "Metric"),
    "recipes": recipes,
    "engines": registered("personae.compare.engine", "Engine"),
    "floors": registered("personae.metrics.floors", "Floor"),
    "parameterisations": registered("personae.layers.adaptive", "Parameterisation"),
    "topic-models": registered("personae.layers.topics", "TopicModel"),
    "rankers": registered("personae.ranking", "Ranker"),
    "published": published,
}


def rows_of(kind: str) -> Rows:
    """Return name and summary of everything of one kind; an unknown kind is a ``UserError``."""
    if kind not in KINDS:
        choices = ", ".join(KINDS)
        raise UserError(f"unknown kind '{kind}'.{nearest(kind, KINDS)} Choose one of: {choices}")
    return KINDS[kind]()


def list_command(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(KINDS)}.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what can be chosen by name, one line each."""
    rows = rows_of(kind)
    if as_json:
        show.print_json(rows)
    else:
        show.print_table(kind, ("name", "summary"), [(row["name"], row["summary"]) for row in rows])


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("list")(list_command)
