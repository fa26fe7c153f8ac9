"""Comparisons made by hand, without training: recipes, a data set of questions, and the cells' files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from personae.compare import Cell, Plan, make_plan
from personae.compare.statistics import by_conversation
from personae.data.load import load
from personae.evaluation.judge import judge
from personae.evaluation.predictions import Said, make_reply
from personae.evaluation.scores import Candidate
from personae.metrics import Reply
from personae.recipe import shipped
from personae.runs import write_json

SHORT = {"train": 20, "valid": 5, "unseen_combinations": 5, "unseen_values": 5}
SHA = "0" * 64


def recipe_file(folder: Path, fusion: str) -> Path:
    """A recipe like ``interview/paa`` with another fusion, named after it."""
    values = yaml.safe_load(shipped()["interview/paa"].read_text(encoding="utf-8"))
    values["model"]["fusion"] = {"name": fusion}
    path = folder / f"{fusion}.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def questions(folder: Path, conversations: int = 6, name: str = "asked") -> Path:
    """A data file: in each conversation one question for the persona and one that rests on nothing."""
    lines = []
    for number in range(conversations):
        turns: list[dict[str, Any]] = [
            {"role": "partner", "text": "what do you do ?"},
            {"role": "self", "text": f"i bake {number} .", "answer": [str(number)], "tags": {"kind": "persona"}},
            {"role": "partner", "text": "oh ."},
            {"role": "self", "text": "yes . " * (number + 1), "tags": {"kind": "neither"}},
        ]
        lines.append(json.dumps({"id": f"talk {number}", "persona": [f"i bake {number} ."], "turns": turns}))
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def replies(data: Path, right: Sequence[bool], nats: float = 2.0, tokens: int = 1) -> list[Reply]:
    """What a model said: the persona's question of conversation i is answered right where ``right[i]``.

    The gold reply of conversation i costs ``nats`` (i + 1) in each of its two turns and counts ``tokens``.
    """
    made = []
    for at, dialogue in enumerate(load([data]).dialogues):
        number, first = divmod(at, 2)
        text = dialogue.response if right[number] or first else "no ."
        made.append(make_reply(dialogue, Said(text, nats * (number + 1), tokens)))
    return made


def finish(cell: Cell, said: Sequence[Reply], steps: int = 2, **notes: Any) -> None:
    """Write what a finished run of ``cell`` leaves, with these replies to each of its data sets."""
    cell.folder.mkdir(parents=True, exist_ok=True)
    cell.recipe.write(cell.run.recipe_file)
    split = {"examples": 9, "sha256": SHA, "skipped_lines": []}
    numbers = {"steps": steps, "seconds": 10.0 * (cell.seed + 1), "parameters": 1000, "vocabulary": 30}
    report = {**numbers, "precision": "fp32", "best": {"step": steps}, "data": {"train": split, "valid": split}}
    write_json(cell.run.report_file, report)
    write_json(cell.notes_file, {"resumed": False, "threads": 1, **notes})
    for data in cell.sets:
        write_scores(cell, data.name, data.files(cell.folder), said, str(data.sha256))


def write_scores(cell: Cell, name: str, paths: Sequence[Path], said: Sequence[Reply], sha256: str) -> None:
    """The file of one data set's scores."""
    dialogues = load(paths).dialogues
    judged = judge(dialogues, Candidate(said, {"decoding": "greedy"}), dialogues, {"data": sha256[:12]})
    facts = {
        "path": [str(path) for path in paths],
        "sha256": sha256,
        "examples": len(dialogues),
        "conversations": len({each.conversation for each in dialogues}),
        "skipped_lines": [],
    }
    scores = {**judged.as_dict(), "data": facts, "by_conversation": by_conversation(said)}
    write_json(cell.folder / "scores" / f"{name}.json", scores)


def made_plan(folder: Path, said: Mapping[str, Sequence[Sequence[Reply]]], data: Path, **options: Any) -> Plan:
    """A plan whose cells are finished: ``said`` by fusion and seed."""
    recipes = [str(recipe_file(folder, fusion)) for fusion in said]
    seeds = max(1, *map(len, said.values()))
    plan = make_plan(recipes, folder / "out", seeds=seeds, data=[data], **options)
    for cell in plan.cells:
        if cell.seed < len(said[cell.name]):
            finish(cell, said[cell.name][cell.seed])
    return plan
