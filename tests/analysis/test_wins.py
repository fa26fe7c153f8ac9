"""Wins, ties and losses by the length of the history."""

import json

import pytest

from personae.analysis.judgements import read_judgements
from personae.analysis.wins import Judgement, analyse_wins, judge_by_metric, length_of
from personae.errors import UserError
from personae.metrics import Reply


def reply(said: str, utterances: int = 1, conversation: str = "a", nats: float | None = None) -> Reply:
    context = tuple("hi" for _ in range(utterances))
    return Reply(said, ("i bake bread",), conversation, {"context": context}, nats=nats, tokens=nats and 4)


@pytest.mark.parametrize(
    ("utterances", "length"), [(1, "short"), (3, "short"), (4, "middle"), (9, "middle"), (10, "long")]
)
def test_lengths_as_in_the_paper(utterances, length):
    assert length_of(reply("x", utterances), 0) == length


def test_outcomes_by_f1():
    ours = [reply("i bake bread"), reply("bread"), reply("no"), reply("i")]
    theirs = [reply("i bake"), reply("bake"), reply("i"), reply("i bake")]
    judgements, undefined = judge_by_metric("f1", ours, theirs)
    assert [each.outcome for each in judgements] == [1, 0, -1, -1]
    assert undefined == 0


def test_of_nats_the_lower_wins():
    judgements, _ = judge_by_metric("nats_per_token", [reply("x", nats=2.0)], [reply("x", nats=3.0)])
    assert judgements == [Judgement(0, 1)]


def test_shares_by_length_with_intervals():
    ours = [reply("x", length, f"talk {at % 4}") for at, length in enumerate([1, 2, 5, 5, 11, 11, 11, 11])]
    outcomes = [1, 0, -1, -1, 1, 1, 1, 0]
    found = analyse_wins(ours, [Judgement(at, each) for at, each in enumerate(outcomes)], "people")
    assert list(found.rows) == ["short", "middle", "long", "all"]
    long = found.rows["long"]
    assert (long.judgements, long.conversations) == (4, 4)
    assert (long.win.value, long.tie.value, long.loss.value, long.net.value) == (0.75, 0.25, 0.0, 0.75)
    assert found.rows["middle"].net.value == -1
    assert found.rows["all"].net.value == pytest.approx(2 / 8)
    low, high = found.rows["all"].net.interval
    assert low < 2 / 8 < high
    assert "wins|by:people|n:8|conv:4|" in found.signature


def test_lengths_that_nobody_judged_have_no_row():
    found = analyse_wins([reply("x", 1), reply("y", 12)], [Judgement(0, 1)], "people")
    assert list(found.rows) == ["short", "all"]


def test_replies_to_different_turns():
    with pytest.raises(UserError, match="1 replies against 2"):
        judge_by_metric("f1", [reply("x")], [reply("x")] * 2)
    with pytest.raises(UserError, match="reply 1 answers another turn"):
        judge_by_metric("f1", [reply("x"), reply("x")], [reply("x"), reply("x", 2)])


def test_a_metric_of_the_whole_corpus_judges_nobody():
    with pytest.raises(UserError, match="'dist1' has no value for a single reply"):
        judge_by_metric("dist1", [reply("x")], [reply("x")])
    with pytest.raises(UserError, match="lack what it rests on"):
        judge_by_metric("nats_per_token", [reply("x")], [reply("x")])


def test_undefined_replies_are_counted():
    asked = Reply("bread", ("b",), "a", {"context": ("hi",)}, answer=("bread",), tags={"kind": "persona"})
    other = Reply("bread", ("b",), "a", {"context": ("hi",)}, answer=("bread",), tags={"kind": "context"})
    judgements, undefined = judge_by_metric("persona_accuracy", [asked, other], [asked, other])
    assert (judgements, undefined) == ([Judgement(0, 0)], 1)


def test_judgements_of_people(tmp_path):
    lines = tmp_path / "people.jsonl"
    lines.write_text(
        "".join(json.dumps(each) + "\n" for each in [{"id": 0, "winner": "A"}, {"id": 1, "a": 2, "b": 3.5}])
    )
    assert read_judgements(lines, 2) == [Judgement(0, 1), Judgement(1, -1)]
    table = tmp_path / "people.csv"
    table.write_text("id,winner,a,b\n1,tie,,\n0,,4,1\n1,b,,\n")
    assert read_judgements(table, 2) == [Judgement(1, 0), Judgement(0, 1), Judgement(1, -1)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x", "expected one JSON object"),
        ("[1]", "expected 'id'"),
        ('{"id": 2, "winner": "a"}', "an 'id' from 0 to 1, not '2'"),
        ('{"winner": "a"}', "not 'None'"),
        ('{"id": 0.5, "winner": "a"}', "not '0.5'"),
        ('{"id": 0, "winner": "c"}', "a, b or tie in 'winner', not 'c'"),
        ('{"id": 0, "a": 1}', "with scores 'a' and 'b'"),
        ('{"id": 0, "a": 1, "b": NaN}', "with scores 'a' and 'b'"),
    ],
)
def test_malformed_judgements(tmp_path, line, said):
    path = tmp_path / "people.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=said) as error:
        read_judgements(path, 2)
    assert f"{path}:1: " in str(error.value)
