"""JSON lines: one conversation per line, the format to write one's own data in."""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from personae.data.base import Reader
from personae.data.files import first_line, one_line, read_text, require_format
from personae.errors import nearest
from personae.text.dialogue import PARTNER, SELF, Dialogue

RECORD = ("id", "persona", "sources", "turns")
TURN = ("role", "text", "candidates", "references", "evidence", "answer", "tags")
TEXTS = ("candidates", "references", "answer")


class _UnexpectedError(Exception):
    """What was expected where a record holds something else."""


@Reader.register("jsonl")
class JsonLines(Reader):
    """JSON lines: ``{"id", "persona", "sources", "turns": [{"role", "text", ...}]}`` on each line.

    Every ``"self"`` turn with an earlier turn is an example. ``persona`` and ``turns`` are required; ``id``
    must be unique (the file's name and line number stand in for it); ``sources`` names further texts. A
    ``"self"`` turn may have ``candidates`` (with or without its own text), ``references``, ``evidence``
    (positions per source), ``answer`` and ``tags``. Blank lines are passed over.

    An unknown key is malformed, and the nearest valid one is named. With ``on_error="skip"`` a malformed
    record is left out whole. Unreadable files and files of another format are a ``UserError`` either way.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    @classmethod
    def recognises(cls, path: Path, head: str) -> bool:
        """Whether the first line begins an object that has turns or a persona."""
        line = first_line(head).lstrip()
        return line.startswith("{") and ('"turns"' in line or '"persona"' in line)

    def read(self, path: Path) -> Iterator[Dialogue]:
        """Yield one Dialogue per answered turn. Raises ``UserError`` as the class says."""
        require_format(type(self), path)
        names: set[str] = set()
        for at, line in enumerate(read_text(path), 1):
            if not line.strip():
                continue
            try:
                record = _parse(line)
                name = record.get("id", f"{path.name}:{at}")
                if name in names:
                    raise _UnexpectedError(f"an id of its own; '{name}' was used above")
            except _UnexpectedError as error:
                self.malformed(path, at, one_line(str(error)))
            else:
                names.add(name)
                yield from _dialogues(record, name)


def _dialogues(record: Mapping[str, Any], name: str) -> Iterator[Dialogue]:
    """The examples of a record that was checked."""
    fixed = {"persona": record["persona"], **record.get("sources", {})}
    sources = {source: tuple(texts) for source, texts in fixed.items()}
    context: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    for turn in record["turns"]:
        if turn["role"] == SELF and context:
            yield Dialogue(
                sources={**sources, "context": context},
                response=turn["text"],
                references=tuple(turn.get("references", ())),
                distractors=_without_gold(turn.get("candidates", []), turn["text"]),
                roles={"context": roles},
                conversation=name,
                evidence={source: tuple(at) for source, at in turn.get("evidence", {}).items()},
                answer=tuple(turn.get("answer", ())),
                tags=turn.get("tags", {}),
            )
        context, roles = (*context, turn["text"]), (*roles, turn["role"])


def _without_gold(candidates: list[str], gold: str) -> tuple[str, ...]:
    if gold not in candidates:
        return tuple(candidates)
    at = candidates.index(gold)
    return (*candidates[:at], *candidates[at + 1 :])


def _parse(line: str) -> dict[str, Any]:
    """Return the checked record of ``line``; raise ``_UnexpectedError`` for what is wrong with it."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at character {error.pos + 1}"
        raise _UnexpectedError(f"one JSON object on the line ({where})") from error
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or brackets nested as deep.
        raise _UnexpectedError(f"one JSON object on the line ({error})") from error
    _need(isinstance(record, dict), "one JSON object on the line")
    _known(record, RECORD, "of a record")
    for key in ("persona", "turns"):
        _need(key in record, f"the key '{key}'")
    _need(_is_text(record.get("id", "")), "'id' to be text")
    _texts(record["persona"], "'persona'")
    sources = record.get("sources", {})
    _need(isinstance(sources, dict), "'sources' to be an object of lists")
    for name, texts in sources.items():
        _need(name not in ("persona", "context"), f"a source of another name than '{name}' in 'sources'")
        _texts(texts, f"source '{name}'")
    _need(isinstance(record["turns"], list), "'turns' to be a list")
    _turns(record["turns"], {"persona": len(record["persona"]), **{k: len(v) for k, v in sources.items()}})
    return record  # type: ignore[no-any-return]


def _turns(turns: list[Any], sizes: Mapping[str, int]) -> None:
    for i, turn in enumerate(turns):
        _need(isinstance(turn, dict), f"turn {i} to be an object")
        _known(turn, TURN, f"of turn {i}")
        _need(turn.get("role") in (SELF, PARTNER), f"'role' of turn {i} to be '{SELF}' or '{PARTNER}'")
        _need(_is_text(turn.get("text")), f"'text' of turn {i} to be text")
        more = [key for key in turn if key not in ("role", "text")]
        _need(turn["role"] == SELF or not more, f"'{''.join(more[:1])}' in a '{SELF}' turn only, not in {i}")
        for key in TEXTS:
            _texts(turn.get(key, []), f"'{key}' of turn {i}")
        tags = turn.get("tags", {})
        _need(isinstance(tags, dict) and all(map(_is_text, tags.values())), f"'tags' of turn {i} to be texts")
        _evidence(turn.get("evidence", {}), {**sizes, "context": i}, i)


def _evidence(evidence: Any, sizes: Mapping[str, int], turn: int) -> None:
    _need(isinstance(evidence, dict), f"'evidence' of turn {turn} to be an object of lists")
    _known(evidence, sizes, f"in 'evidence' of turn {turn}")
    for source, positions in evidence.items():
        right = isinstance(positions, list) and all(
            type(position) is int and 0 <= position < sizes[source] for position in positions
        )
        _need(right, f"'evidence' of turn {turn} for '{source}' to be positions below {sizes[source]}")


def _known(found: Mapping[str, Any], valid: Collection[str], where: str) -> None:
    for key in found:
        _need(key in valid, f"the keys {', '.join(valid)} {where}, not '{key}'.{nearest(key, valid)}")


def _texts(value: Any, what: str) -> None:
    _need(isinstance(value, list) and all(map(_is_text, value)), f"{what} to be a list of texts")


def _is_text(value: Any) -> bool:
    # JSON can escape half a surrogate pair, which no tokenizer or file takes.
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _need(holds: bool, expected: str) -> None:
    if not holds:
        raise _UnexpectedError(expected)
