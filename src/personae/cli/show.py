"""Output that people and programs can read: tables, JSON."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE = 100_000


def console() -> Console:
    """Return a console for standard output; away from a terminal it never wraps or cuts a line."""
    if sys.stdout.isatty():
        return Console(file=sys.stdout)
    return Console(file=sys.stdout, width=WIDE)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], bold: Collection[tuple[int, int]] = ()
) -> None:
    """Print ``rows`` under ``columns``; columns that hold only numbers stand to the right.

    ``bold``: (row, column) of what stands out in a terminal.
    """
    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        numeric = bool(cells) and all(isinstance(row[number], int | float | None) for row in cells)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for at, row in enumerate(cells):
        styles = ("bold" if (at, column) in bold else "" for column in range(len(row)))
        table.add_row(*(Text(shown(cell), style) for cell, style in zip(row, styles, strict=True)))
    out = console()
    with out.capture() as captured:
        out.print(Text(title, style="bold"), table, sep="\n")
    for line in captured.get().rstrip().split("\n"):
        print(line.rstrip())
    print()


def shown(cell: object) -> str:
    """Return the text of one cell: four significant decimals, a dash for nothing."""
    if cell is None:
        return "-"
    return f"{cell:,.4g}" if isinstance(cell, float) else str(cell)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON, on standard output and without colour."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=str))
