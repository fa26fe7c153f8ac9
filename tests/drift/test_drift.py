"""Drift: both sides of a conversation, probes that leave no trace, values by turn with their intervals."""

import json

import pytest

from personae.data.interview.facts import recognise
from personae.drift import Cast, Settings, make_casts, measure_drift, write_drift
from personae.drift.curve import distinct, repeated, replies_of
from personae.drift.probes import probe, question
from personae.drift.selfchat import Answering, Conversation, take_turn
from personae.errors import UserError
from personae.evaluation.speaker import Speaker
from personae.metrics import Metric
from personae.runs import Run

ANN, BEN = ("i am a baker by trade .", "i live in oslo ."), ("i am a pilot by trade .", "i fly .")


class Scripted:
    """Answers with a number, and remembers what it was asked."""

    def __init__(self, reply: str = "") -> None:
        self.asked, self.reply = [], reply

    def __call__(self, dialogues):
        self.asked += dialogues
        return [self.reply or f"reply {len(self.asked)} {at}" for at in range(len(dialogues))]


class Fixed:
    """A judge to whom everything is neutral but one persona."""

    fields = {}  # noqa: RUF012

    def __call__(self, claims):
        return [1 if claim.sentence in ANN else -1 for claim in claims]


def talk(turns: int) -> tuple[Conversation, Scripted]:
    conversation, answer = Conversation(Cast("c", (ANN, BEN)), "hello ."), Scripted()
    for _ in range(turns):
        take_turn([conversation], answer)
    return conversation, answer


def test_both_sides_speak_in_turn_each_with_its_persona_and_its_own_view():
    conversation, answer = talk(3)
    first, second, third = answer.asked
    assert [each.sources["persona"] for each in answer.asked] == [ANN, BEN, ANN]
    said = conversation.turns
    assert first.sources["context"] == ("hello .",)
    assert second.sources["context"] == ("hello .", said[0])
    assert third.sources["context"] == ("hello .", *said[:2])
    assert [each.roles["context"] for each in answer.asked] == [
        ("partner",),
        ("self", "partner"),
        ("partner", "self", "partner"),
    ]


def test_a_probe_asks_whoever_spoke_last_and_does_not_enter_the_conversation():
    conversation, _ = talk(1)
    before, answer = list(conversation.turns), Scripted("i earn my living as a baker .")
    replies = probe([conversation], answer, 0)
    assert conversation.turns == before
    assert len(replies) == len(ANN) == len(answer.asked)
    for dialogue in answer.asked:
        assert dialogue.sources["persona"] == ANN
        assert dialogue.roles["context"] == ("partner", "self", "partner")
    assert answer.asked[0].sources["context"][-1] in recognise(ANN[0]).family.questions
    score = Metric.build("persona_accuracy").measure(replies)
    assert score.value == 0.5


def test_values_of_the_other_persona_make_an_answer_wrong():
    conversation, _ = talk(1)
    (right, _), (wrong, _) = (probe([conversation], Scripted(said), 0) for said in ("a baker", "a baker and a pilot"))
    assert [Metric.build("persona_accuracy").measure([each]).value for each in (right, wrong)] == [1, 0]


def test_questions_are_the_same_for_every_model():
    one, other = talk(2)[0], talk(2)[0]
    other.turns = ["something", "else"]
    fact = recognise(ANN[0])
    assert {question(one, fact, 0), question(other, fact, 0)} == {question(one, fact, 0)}
    assert len({question(one, fact, seed) for seed in range(20)}) > 1


def test_personae_of_another_corpus_are_not_probed():
    assert probe([Conversation(Cast("c", (("i fly .",), ("i sing .",))), "hi", ["x"])], Scripted(), 0) == []


def test_distinct_and_repeated_by_hand():
    assert distinct(["i like dogs", "i like cats"]) == 3 / 4
    assert distinct(["hi"]) == 1
    assert repeated(["hi .", "yes", "Hi !", "no"], 1) == 1 / 4
    assert repeated(["hi .", "yes", "Hi !", "no"], 3) == 1 / 2


def test_replies_have_the_persona_of_whoever_says_them_and_what_they_answer():
    conversation, _ = talk(3)
    second, third = replies_of(conversation, 2)
    assert (second.sources["persona"], third.sources["persona"]) == (BEN, ANN)
    assert second.sources["context"] == (conversation.turns[0],)
    assert third.prediction == conversation.turns[2]


@pytest.fixture(scope="module")
def casts(tiny_run) -> list[Cast]:
    return make_casts(Run(tiny_run).recipe(), 3, [], 0)


@pytest.fixture(scope="module")
def curve(tiny_run, casts):
    return measure_drift(Run(tiny_run), casts, Settings(turns=6), judge=Fixed())


def test_every_measure_at_every_point_with_interval_and_signature(curve):
    assert [(point.first, point.turn) for point in curve.points] == [(1, 1), (2, 2), (3, 5), (6, 6)]
    assert curve.measures == ["persona_accuracy", "c_score", "distinct_in_chat", "repeated_in_chat"]
    for point in curve.points:
        for name, score in point.scores.items():
            low, high = score.interval
            assert low <= score.value <= high
            assert score.signature.startswith(f"{name}|")
    assert "asked:18" in curve.points[0].scores["persona_accuracy"].signature
    assert "n:9|conv:3" in curve.points[2].scores["c_score"].signature


def test_it_can_be_repeated_and_the_batch_changes_nothing(tiny_run, casts, curve):
    again = measure_drift(Run(tiny_run), casts, Settings(turns=6, batch=2))
    assert [each.turns for each in again.conversations] == [each.turns for each in curve.conversations]
    assert again.measures == ["persona_accuracy", "distinct_in_chat", "repeated_in_chat"]


def test_a_long_conversation_stays_within_the_budgets(tiny_run, casts):
    speaker = Speaker(Run(tiny_run), Run(tiny_run).recipe().decoding)
    conversation = Conversation(casts[0], "hello .", ["i like dogs and cats and birds ."] * 80)
    answer = Answering(speaker, 4, 0)
    assert len(answer([conversation.heard(0)])) == 1
    assert speaker.packer.cuts.tokens["context"] > 0
    assert answer.lost() == 0


def test_what_is_written_can_be_read(curve, tmp_path):
    paths = write_drift(tmp_path / "new", {"one": curve, "two": curve}, {"settings": {}})
    assert [path.name for path in paths] == ["drift.json", "drift.md", "drift.png", "conversations.jsonl"]
    found = json.loads(paths[0].read_text())
    assert [point["turn"] for point in found["runs"]["one"]] == [1, 2, 5, 6]
    assert paths[1].read_text().count("| two |") == 4
    assert paths[2].read_bytes().startswith(b"\x89PNG")
    assert len(paths[3].read_text().splitlines()) == 6


def test_the_personae_of_files_talk(tiny_run, tmp_path):
    data = tiny_run / "data" / "unseen_values.jsonl"
    casts = make_casts(Run(tiny_run).recipe(), 2, [data], 0)
    first = [tuple(json.loads(line)["persona"]) for line in data.read_text().splitlines()[:4]]
    assert [persona for cast in casts for persona in cast.personae] == first
    with pytest.raises(UserError, match="100 conversations need 200 personae, the data has 5"):
        make_casts(Run(tiny_run).recipe(), 100, [data], 0)


@pytest.mark.parametrize("options", [{"turns": 0}, {"turns": 5000}, {"batch": 0}, {"opener": " "}])
def test_settings_that_cannot_be(options):
    with pytest.raises(UserError, match="--"):
        Settings(**options)


def test_points_end_with_the_last_turn():
    assert Settings(turns=100).points == [1, 2, 5, 10, 20, 50, 100]
    assert Settings(turns=7).points == [1, 2, 5, 7]
    assert Settings(turns=1).points == [1]
