"""Generate the interview corpus and write it as JSON Lines."""

import json
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from personae.data.interview.plan import make_plan
from personae.data.interview.speech import Interview
from personae.data.interview.splits import COMBINATIONS, FAMILIES, SPLITS, TRAIN, VALID, VALUES, draw_persona
from personae.errors import UserError, nearest

DEFAULT_SIZES: Mapping[str, int] = {TRAIN: 12000, VALID: 100, COMBINATIONS: 250, VALUES: 100}


def generate(
    split: str, conversations: int, seed: int = 0, facts: int = 6, exchanges: int = 4
) -> Iterator[dict[str, Any]]:
    """Yield ``conversations`` conversations of ``split``, each with ``facts`` persona sentences.

    A conversation has ``exchanges`` or one more exchanges. Its content depends on split, seed, number and
    the parameters only, so a larger corpus begins with the smaller one. A conversation is
    ``{"id", "persona", "turns"}``; a turn of role "self" has, beside its text, ``evidence`` (positions in
    persona and turns), ``answer`` (words that a right reply must contain) and ``tags``.
    """
    _check(split, conversations, facts, exchanges)
    return (_conversation(split, number, seed, facts, exchanges) for number in range(conversations))


def write(folder: Path, seed: int = 0, sizes: Mapping[str, int] | None = None) -> dict[str, Path]:
    """Write ``<split>.jsonl`` into ``folder`` for every split of ``sizes`` and return the paths.

    ``sizes`` maps splits to numbers of conversations (default ``DEFAULT_SIZES``). Each file appears whole or
    not at all, and equal arguments give equal bytes.
    """
    chosen = DEFAULT_SIZES if sizes is None else sizes
    streams = {split: generate(split, size, seed) for split, size in chosen.items()}
    folder.mkdir(parents=True, exist_ok=True)
    return {split: _write_lines(folder / f"{split}.jsonl", stream) for split, stream in streams.items()}


def _conversation(split: str, number: int, seed: int, facts: int, exchanges: int) -> dict[str, Any]:
    name = f"{split}-{seed}-{number}"
    generator = random.Random(f"{name}-{facts}-{exchanges}")
    persona = draw_persona(generator, split, facts)
    sentences = [fact.say(generator.choice(fact.family.sentences)) for fact in persona]
    plan = make_plan(generator, split, persona, exchanges + generator.randrange(2))
    return {"id": name, "persona": sentences, "turns": Interview(generator, persona, plan).turns()}


def _check(split: str, conversations: int, facts: int, exchanges: int) -> None:
    if split not in SPLITS:
        choices = ", ".join(SPLITS)
        raise UserError(f"unknown split '{split}'.{nearest(split, SPLITS)} Choose one of: {choices}")
    if conversations < 0:
        raise UserError(f"conversations must be 0 or more, not {conversations}")
    if exchanges < 1:
        raise UserError(f"exchanges must be 1 or more, not {exchanges}")
    most = len(FAMILIES) - exchanges - 1
    if not max(2, exchanges + 1) <= facts <= most:
        low = max(2, exchanges + 1)
        raise UserError(f"with {exchanges} exchanges, facts must be from {low} to {most}, not {facts}")


def _write_lines(path: Path, records: Iterator[dict[str, Any]]) -> Path:
    """Write one record per line to a temporary file beside ``path``, then rename it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        return temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
