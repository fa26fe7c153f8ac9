"""Pairs from files of natural language inference, as SNLI, MNLI and Dialogue NLI ship them."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personae.consistency.labels import HINT, UNDECIDED, meaning
from personae.consistency.pairs import Pair, Source, share_of
from personae.data.files import one_line, read_text
from personae.errors import UserError, nearest
from personae.metrics.c_score import Claim

SENTENCES = (("premise", "hypothesis"), ("sentence1", "sentence2"))
LABEL_KEYS = ("label", "gold_label")
_HELD_OUT = 10  # one premise in ten


@dataclass(frozen=True)
class NliFile:
    """The pairs of one file, how many its annotators left undecided, and the hash of its bytes."""

    path: Path
    pairs: Sequence[Pair]
    undecided: int
    sha256: str


def read_nli(path: Path, names: Mapping[str, str]) -> NliFile:
    """Read JSON Lines, or one JSON list, of ``premise``, ``hypothesis`` and ``label``.

    ``sentence1`` and ``sentence2`` (SNLI, MNLI, Dialogue NLI) and ``gold_label`` (SNLI, MNLI) are known too; other
    keys, such as Dialogue NLI's triples, are passed over. ``names`` maps labels, see ``labels.read_names``. The
    premise stands for the persona sentence, the hypothesis for the reply. Raises ``UserError``, with file and line,
    for a malformed record or an unknown label.
    """
    pairs: list[Pair] = []
    undecided = 0
    for where, record in _records(path):
        pair = _pair(where, record, names)
        if pair is None:
            undecided += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise UserError(f"{path} has no labelled pair: give JSON Lines with premise, hypothesis and label")
    return NliFile(path, pairs, undecided, hashlib.sha256(path.read_bytes()).hexdigest())


def make_source(file: NliFile) -> Source:
    """The pairs of a file, one premise in ten held out with all of its pairs."""
    held = [pair for pair in file.pairs if share_of(pair.group, _HELD_OUT) == 0]
    train = [pair for pair in file.pairs if share_of(pair.group, _HELD_OUT) != 0]
    if not held or not train:
        raise UserError(f"{file.path}: {len(file.pairs)} pairs are too few to train on some and hold out others")
    return Source(train, {file.path.stem: held}, about_file(file))


def about_file(file: NliFile) -> dict[str, Any]:
    """What a file is, for JSON: its name without its folder."""
    return {"file": file.path.name, "pairs": len(file.pairs), "undecided": file.undecided, "sha256": file.sha256}


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Every record with its place, ``file:line``; of a JSON list ``file: item n``."""
    lines = enumerate(read_text(path), 1)
    number, first = next((each for each in lines if each[1].strip()), (1, ""))
    if first.lstrip().startswith("["):
        yield from ((f"{path}: item {at}", each) for at, each in enumerate(_whole(path), 1))
        return
    yield f"{path}:{number}", _parse(first, f"{path}:{number}")
    for number, line in lines:
        if line.strip():
            yield f"{path}:{number}", _parse(line, f"{path}:{number}")


def _whole(path: Path) -> list[Any]:
    found = _parse("".join(read_text(path)), str(path))
    return found if isinstance(found, list) else [found]


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: expected one JSON object on the line ({one_line(str(error))})") from error


def _pair(where: str, record: Any, names: Mapping[str, str]) -> Pair | None:
    """The pair of one record; None where its annotators did not agree."""
    if not isinstance(record, dict):
        raise UserError(f"{where}: expected one JSON object on the line")
    premise, hypothesis = _sentences(where, record)
    key = next((each for each in LABEL_KEYS if each in record), None)
    if key is None:
        raise UserError(f"{where}: expected the key 'label' or 'gold_label'")
    label = meaning(record[key], names)
    if label is None:
        raise UserError(
            f"{where}: unknown label {one_line(json.dumps(record[key]))}."
            f"{nearest(str(record[key]), names)} If it is right, {HINT}"
        )
    return None if label == UNDECIDED else Pair(Claim(premise, "", hypothesis), label, premise)


def _sentences(where: str, record: Mapping[str, Any]) -> tuple[str, str]:
    for first, second in SENTENCES:
        if first in record or second in record:
            texts = record.get(first), record.get(second)
            for key, text in zip((first, second), texts, strict=True):
                if not isinstance(text, str) or not text.strip():
                    raise UserError(f"{where}: expected a text in '{key}'")
            return str(texts[0]), str(texts[1])
    raise UserError(f"{where}: expected the keys 'premise' and 'hypothesis', or 'sentence1' and 'sentence2'")
