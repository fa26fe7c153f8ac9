"""Judgements that people or another program made, one a line: JSON Lines or CSV."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from personae.analysis.wins import Judgement
from personae.data.files import one_line, read_text
from personae.errors import UserError

WINNERS = {"a": 1, "tie": 0, "b": -1}
EXPECTED = "'id' (the reply's number, from 0) with 'winner' (a, b or tie) or with scores 'a' and 'b', higher is better"


def read_judgements(path: Path, replies: int) -> list[Judgement]:
    """Judgements of ``replies`` turns; several of one turn all count.

    Each line has ``id``, as ``predictions.jsonl`` numbers replies, and ``winner`` (a, b, tie) or the scores ``a``
    and ``b``. A file that ends in .csv has their names in its first line. Raises ``UserError`` for a malformed line.
    """
    lines = csv_lines(path) if path.suffix == ".csv" else json_lines(path)
    return [parse(values, replies, f"{path}:{at}") for at, values in lines]


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line number and object of every line."""
    for at, line in enumerate(read_text(path), 1):
        if line.strip():
            try:
                values = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}:{at}: expected one JSON object on the line ({error})") from error
            yield at, values


def csv_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line number and fields of every line but the first."""
    reader = csv.DictReader(read_text(path))
    for values in reader:
        yield reader.line_num, {key: value for key, value in values.items() if value not in (None, "")}


def parse(values: Any, replies: int, where: str) -> Judgement:
    """One judgement."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where}: expected {EXPECTED}")
    turn = number(values.get("id"))
    if turn is None or turn != int(turn) or not 0 <= turn < replies:
        raise UserError(f"{where}: expected an 'id' from 0 to {replies - 1}, not '{one_line(str(values.get('id')))}'")
    if values.get("winner") is not None:
        winner = str(values["winner"]).strip().lower()
        if winner not in WINNERS:
            raise UserError(f"{where}: expected a, b or tie in 'winner', not '{one_line(winner)}'")
        return Judgement(int(turn), WINNERS[winner])
    ours, theirs = number(values.get("a")), number(values.get("b"))
    if ours is None or theirs is None:
        raise UserError(f"{where}: expected {EXPECTED}")
    return Judgement(int(turn), (ours > theirs) - (ours < theirs))


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if abs(found) != float("inf") and found == found else None
