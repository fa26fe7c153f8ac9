"""Known evidence: what is asked, what stands aside, what is written."""

import json

import pytest

from personae.errors import UserError
from personae.evidence import Explained, Text
from personae.evidence.score import EvidenceScores, rows, score, weigh
from personae.metrics import Reply
from personae.metrics.reply import Weighed
from personae.runs import Run
from personae.text.dialogue import Dialogue

DIALOGUE = Dialogue(
    {"persona": ("i bake .", "", "i sing ."), "context": ("hi .", "hello .", "do you sing ?")},
    "yes .",
    roles={"context": ("partner", "self", "partner")},
    evidence={"persona": (2,), "context": (2,)},
)


def test_the_last_turn_is_the_question_and_positions_survive_blank_texts():
    places = [("persona", 0), ("persona", 2), ("context", 0), ("context", 1), ("context", 2)]
    texts = tuple(Text(name, at, "x", share=0.1 * i, nats=float(i)) for i, (name, at) in enumerate(places))
    weighed = weigh(DIALOGUE, Explained("yes .", (), texts))
    assert weighed.known == (1, 4)
    assert weighed.question == 4
    assert weighed.sought == [1]
    assert weighed.leave_one_out == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_scores_by_kind_and_chance():
    def reply(kind, best):
        weights = tuple(1.0 if at == best else 0.0 for at in range(4))
        return Reply("a", ("a",), kind, tags={"kind": kind}, weighed=Weighed((0,), weights, weights))

    found = rows([reply("persona", 0), reply("persona", 0), reply("context", 2), Reply("b", ("b",))], {"data": "d"})
    assert list(found) == ["all", "context", "persona", "chance"]
    name = "evidence_accuracy_attention"
    assert [found[row][name].value for row in found] == pytest.approx([2 / 3, 0, 1, 0.25])
    assert "|data:d|kind:persona|" in found["persona"][name].signature
    assert found["chance"]["evidence_correlation"].value == 0


@pytest.fixture(scope="module")
def scored(tiny_run) -> EvidenceScores:
    return score(Run(tiny_run), [tiny_run / "data" / "unseen_values.jsonl"], limit=8)


def test_a_run_is_scored_on_the_gold_replies_with_evidence(scored, tiny_run):
    as_dict = scored.as_dict()
    signature = as_dict["evidence"]["all"]["evidence_accuracy_leave_one_out"]["signature"]
    assert "limit:first-8|replies:gold|view:sources" in signature
    assert as_dict["data"]["examples"] == 8
    assert 0 < as_dict["examples_with_evidence"] < 8
    assert f"n:{as_dict['examples_with_evidence']}|" in signature
    assert 0 < as_dict["evidence"]["chance"]["evidence_accuracy_attention"]["value"] < 0.5
    json.dumps(as_dict)


def test_data_without_evidence_cannot_be_scored(tiny_run, tmp_path):
    path = tmp_path / "plain.jsonl"
    turns = [{"role": "partner", "text": "hi ."}, {"role": "self", "text": "hello ."}]
    path.write_text(json.dumps({"persona": ["i bake ."], "turns": turns}))
    with pytest.raises(UserError, match="no turn says what it rests on"):
        score(Run(tiny_run), [path])


def test_evidence_in_the_question_alone_leaves_nothing_to_choose(tiny_run, tmp_path):
    path = tmp_path / "echo.jsonl"
    turns = [{"role": "partner", "text": "hi ."}, {"role": "self", "text": "hi .", "evidence": {"context": [0]}}]
    path.write_text(json.dumps({"persona": ["i bake ."], "turns": turns}))
    with pytest.raises(UserError, match="beside the turn that it answers"):
        score(Run(tiny_run), [path])
