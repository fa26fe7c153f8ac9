"""The JSON lines reader: every key, and what it says of records that are not right."""

import json
from pathlib import Path
from typing import Any

import pytest

from personae.data import Reader
from personae.data.base import OnError
from personae.errors import UserError
from personae.text.dialogue import Dialogue

RECORD: dict[str, Any] = {
    "id": "lake",
    "persona": ["i row .", "i bake ."],
    "sources": {"knowledge": ["the lake is deep ."]},
    "turns": [
        {"role": "partner", "text": "hello"},
        {
            "role": "self",
            "text": "hi",
            "candidates": ["bye", "hi", "hi"],
            "references": ["hey"],
            "evidence": {"persona": [1], "context": [0], "knowledge": [0]},
            "answer": ["hi"],
            "tags": {"kind": "greeting"},
        },
        {"role": "partner", "text": "and ?"},
        {"role": "self", "text": "i row ."},
    ],
}
SAMPLE = json.dumps(RECORD) + "\n"


def read(folder: Path, text: str, on_error: OnError = "raise") -> tuple[list[Dialogue], list[str]]:
    path = folder / "talks.jsonl"
    path.write_text(text, encoding="utf-8", newline="")
    reader = Reader.build("jsonl", on_error=on_error)
    return list(reader.read(path)), reader.skipped


def line(**changes: Any) -> str:
    return json.dumps({"persona": ["i row ."], "turns": [], **changes}) + "\n"


def turns(**changes: Any) -> str:
    answer = {"role": "self", "text": "b", **changes}
    return line(turns=[{"role": "partner", "text": "a"}, answer])


def test_every_key(tmp_path: Path) -> None:
    first, second = read(tmp_path, SAMPLE)[0]
    persona, knowledge = ("i row .", "i bake ."), ("the lake is deep .",)
    assert first == Dialogue(
        sources={"persona": persona, "knowledge": knowledge, "context": ("hello",)},
        response="hi",
        references=("hey",),
        distractors=("bye", "hi"),
        roles={"context": ("partner",)},
        conversation="lake",
        evidence={"persona": (1,), "context": (0,), "knowledge": (0,)},
        answer=("hi",),
        tags={"kind": "greeting"},
    )
    assert second.sources["context"] == ("hello", "hi", "and ?")
    assert second.roles["context"] == ("partner", "self", "partner")
    assert second.conversation == "lake"


def test_an_opening_of_self_is_context_only(tmp_path: Path) -> None:
    said = [{"role": "self", "text": "a"}, {"role": "partner", "text": "b"}, {"role": "self", "text": "c"}]
    (dialogue,), _ = read(tmp_path, line(turns=said))
    assert (dialogue.sources["context"], dialogue.roles["context"]) == (("a", "b"), ("self", "partner"))


def test_the_line_number_names_a_record_without_id(tmp_path: Path) -> None:
    dialogues, _ = read(tmp_path, turns() + "\n" + turns())
    assert [dialogue.conversation for dialogue in dialogues] == ["talks.jsonl:1", "talks.jsonl:3"]


def test_candidates_without_the_gold_stay_as_they_are(tmp_path: Path) -> None:
    (dialogue,), _ = read(tmp_path, turns(candidates=["x", "y"]))
    assert dialogue.distractors == ("x", "y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"persona": [}\n', "one JSON object on the line .* at character 14"),
        ('["persona", "turns"]\n', "one JSON object"),
        (line(personas=[]), r"not 'personas'\. Did you mean 'persona'\?"),
        ('{"persona": []}\n', "the key 'turns'"),
        ('{"turns": []}\n', "the key 'persona'"),
        ('{"persona": ' + "1" * 5000 + "}\n", "one JSON object on the line"),
        ('{"persona": ' + "[" * 100_000 + "\n", "one JSON object on the line"),
        (line(**{"a\nb": 1}), "not 'a b'"),
        (line(id=3), "'id' to be text"),
        (line(persona="i row ."), "'persona' to be a list of texts"),
        (line(sources=["x"]), "'sources' to be an object"),
        (line(sources={"context": ["x"]}), "another name than 'context'"),
        (line(sources={"knowledge": [1]}), "source 'knowledge' to be a list of texts"),
        (line(turns={}), "'turns' to be a list"),
        (line(turns=["a"]), "turn 0 to be an object"),
        (line(turns=[{"role": "self"}]), "'text' of turn 0"),
        (turns(role="me"), "'role' of turn 1 to be 'self' or 'partner'"),
        (turns(text="\ud800"), "'text' of turn 1"),
        (turns(candidate=["x"]), r"not 'candidate'\. Did you mean 'candidates'\?"),
        (turns(role="partner", answer=["x"]), "'answer' in a 'self' turn only"),
        (turns(references="x"), "'references' of turn 1 to be a list of texts"),
        (turns(tags={"kind": 1}), "'tags' of turn 1"),
        (turns(evidence=[0]), "'evidence' of turn 1 to be an object"),
        (turns(evidence={"contxt": [0]}), r"not 'contxt'\. Did you mean 'context'\?"),
        (turns(evidence={"context": [1]}), "'context' to be positions below 1"),
        (turns(evidence={"persona": [True]}), "'persona' to be positions below 1"),
    ],
)
def test_malformed_records_are_named(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError, match=rf"talks\.jsonl:1: expected .*{expected}"):
        read(tmp_path, text)


def test_an_id_is_used_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"talks\.jsonl:2: expected an id of its own; 'lake' was used above"):
        read(tmp_path, SAMPLE + SAMPLE)


def test_skip_leaves_a_malformed_record_out(tmp_path: Path) -> None:
    dialogues, skipped = read(tmp_path, turns(tag={}) + turns(text="kept") + "{\n", on_error="skip")
    assert [dialogue.response for dialogue in dialogues] == ["kept"]
    assert [entry.split(": ")[0][-2:] for entry in skipped] == [":1", ":3"]
