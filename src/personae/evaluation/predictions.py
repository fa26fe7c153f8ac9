"""``predictions.jsonl``: one reply per line, and the journal that an interrupted evaluation goes on from."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personae.data.files import read_text
from personae.errors import UserError
from personae.metrics import Ranking, Reply
from personae.text.dialogue import Dialogue

PREDICTIONS = "predictions.jsonl"
JOURNAL = "predictions.part.jsonl"


@dataclass(frozen=True)
class Said:
    """What a model made of one dialogue: its reply, and the nats of the gold one over ``tokens`` tokens.

    ``ranking``: what it made of the candidates, where it was asked.
    """

    prediction: str
    nats: float
    tokens: int
    ranking: Ranking | None = None


def make_reply(dialogue: Dialogue, said: Said) -> Reply:
    """One reply, ready for ``Metric.measure``."""
    return Reply(
        prediction=said.prediction,
        references=dialogue.golds,
        conversation=dialogue.conversation,
        sources=dialogue.sources,
        nats=said.nats,
        tokens=said.tokens,
        answer=dialogue.answer,
        tags=dialogue.tags,
        ranking=said.ranking,
    )


def write_predictions(folder: Path, dialogues: Sequence[Dialogue], said: Sequence[Said]) -> Path:
    """Write ``predictions.jsonl`` through a temporary file: a reader sees all lines or none."""
    path, fresh = folder / PREDICTIONS, folder / f"{PREDICTIONS}.new"
    with fresh.open("w", encoding="utf-8", newline="\n") as file:
        for index, (dialogue, each) in enumerate(zip(dialogues, said, strict=True)):
            file.write(json.dumps(_record(index, dialogue, each), ensure_ascii=False) + "\n")
    return fresh.replace(path)


def read_predictions(path: Path) -> list[Reply]:
    """Read ``predictions.jsonl``. A malformed line is a ``UserError`` with its number."""
    return list(each_prediction(path))


def each_prediction(path: Path) -> Iterator[Reply]:
    """Read ``predictions.jsonl`` reply by reply, without holding it. Raises as ``read_predictions`` does."""
    for at, line in enumerate(read_text(path), 1):
        if line.strip():
            yield _parse(line, f"{path}:{at}")


class Journal:
    """Finished replies in the order of the work, each batch on disk before the next begins.

    ``key`` says what is being evaluated and how; a journal with another key is begun anew.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.path, self.key = folder / JOURNAL, key
        self.said = dict(self._kept())
        folder.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{JOURNAL}.new")
        fresh.write_text("".join([self._head(), *self._lines(self.said)]), encoding="utf-8")
        fresh.replace(self.path)

    def add(self, said: Mapping[int, Said]) -> None:
        """Note the replies of one batch, by the position of their dialogue."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(self._lines(said))
            file.flush()
            os.fsync(file.fileno())
        self.said.update(said)

    def close(self) -> None:
        """Remove the journal: its replies stand in ``predictions.jsonl``."""
        self.path.unlink(missing_ok=True)

    def _head(self) -> str:
        return json.dumps({"key": self.key}) + "\n"

    def _lines(self, said: Mapping[int, Said]) -> Iterator[str]:
        for index, each in said.items():
            line = [index, each.prediction, each.nats, each.tokens, _plain(each.ranking)]
            yield json.dumps(line, ensure_ascii=False) + "\n"

    def _kept(self) -> Iterator[tuple[int, Said]]:
        """What an interrupted evaluation of the same left; a half-written last line is passed over."""
        if not self.path.is_file():
            return
        head, *lines = self.path.read_bytes().decode("utf-8", "replace").split("\n")
        if f"{head}\n" != self._head():
            return
        with suppress(ValueError):
            for line in lines[:-1]:
                index, prediction, nats, tokens, ranking = json.loads(line)
                yield index, Said(prediction, nats, tokens, _ranking(ranking))


def _record(index: int, dialogue: Dialogue, said: Said) -> dict[str, Any]:
    """One line; of the candidates it has scores only, where they were ranked."""
    ranked = {} if said.ranking is None else {"ranking": _plain(said.ranking)}
    return {
        "id": index,
        "conversation": dialogue.conversation,
        "sources": dict(dialogue.sources),
        "roles": dict(dialogue.roles),
        "references": dialogue.golds,
        "prediction": said.prediction,
        "nats": said.nats,
        "tokens": said.tokens,
        "answer": dialogue.answer,
        "tags": dict(dialogue.tags),
        **ranked,
    }


def _parse(line: str, where: str) -> Reply:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: expected one JSON object on the line ({error})") from error
    if not isinstance(values, dict):
        raise UserError(f"{where}: expected one JSON object on the line")
    for name, (expected, right) in _FIELDS.items():
        if not right(values.get(name)):
            raise UserError(f"{where}: expected {expected} in '{name}', as `personae evaluate` writes it")
    return Reply(
        prediction=values["prediction"],
        references=tuple(values["references"]),
        conversation=values.get("conversation") or "",
        sources={name: tuple(texts) for name, texts in (values.get("sources") or {}).items()},
        nats=values.get("nats"),
        tokens=values.get("tokens"),
        answer=tuple(values.get("answer") or ()),
        tags=values.get("tags") or {},
        ranking=_ranking(values.get("ranking")),
    )


def _plain(ranking: Ranking | None) -> dict[str, Sequence[float]] | None:
    return None if ranking is None else {"right": ranking.right, "wrong": ranking.wrong}


def _ranking(values: Mapping[str, Sequence[float]] | None) -> Ranking | None:
    return None if values is None else Ranking(tuple(values["right"]), tuple(values["wrong"]))


def _is_ranking(value: Any) -> bool:
    sides = [value.get(side) for side in ("right", "wrong")] if isinstance(value, dict) else [None]
    return all(isinstance(side, list) and all(type(score) in (int, float) for score in side) for side in sides)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _maybe(right: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: value is None or right(value)


# What `_record` writes under each key, in words and as a check.
_FIELDS: Mapping[str, tuple[str, Any]] = {
    "prediction": ("a text", lambda value: isinstance(value, str)),
    "references": ("a list of one or more texts", lambda value: _is_texts(value) and value),
    "conversation": ("a text", _maybe(lambda value: isinstance(value, str))),
    "sources": (
        "an object of lists of texts",
        _maybe(lambda value: isinstance(value, dict) and all(map(_is_texts, value.values()))),
    ),
    "nats": ("a number", _maybe(lambda value: type(value) in (int, float))),
    "tokens": ("a whole number", _maybe(lambda value: type(value) is int)),
    "answer": ("a list of texts", _maybe(_is_texts)),
    "ranking": ("an object of two lists of numbers, right and wrong,", _maybe(_is_ranking)),
    "tags": ("an object of texts", _maybe(lambda value: isinstance(value, dict) and _is_texts([*value.values()]))),
}
