"""Ranking by words: the recorded values on ConvAI2 validation, and what is compared."""

from pathlib import Path

import pytest

from personae.data.load import load
from personae.metrics import Metric, Reply
from personae.ranking import Ranker
from personae.text.dialogue import Dialogue

DIALOGUE = Dialogue(
    {"persona": ("i ski .",), "context": ("we sing", "cats purr")},
    "yes",
    distractors=("ski !", "cats", "sing ?", "ski cats"),
)


@pytest.mark.parametrize(
    ("name", "best"),
    [("tfidf", {"ski cats"}), ("tfidf:persona", {"ski !"}), ("tfidf:last", {"cats"})],
)
def test_what_candidates_are_compared_with(name: str, best: set[str]) -> None:
    (ranking,) = Ranker.build(name).rank([DIALOGUE])
    assert {DIALOGUE.distractors[at] for at, score in enumerate(ranking.wrong) if score == max(ranking.wrong)} == best


def test_without_persona_or_context_all_are_equal() -> None:
    (ranking,) = Ranker.build("tfidf").rank([Dialogue({}, "yes", distractors=("no", "ski"))])
    assert {*ranking.right, *ranking.wrong} == {0}


@pytest.mark.parametrize(("name", "hits"), [("tfidf", 51.6), ("tfidf:persona", 41.8), ("tfidf:last", 25.9)])
def test_hits_on_convai2_validation(shared_data: Path, name: str, hits: float) -> None:
    dialogues = load([shared_data / "convai2" / "valid_self_original.txt"]).dialogues
    pairs = zip(dialogues, Ranker.build(name).rank(dialogues), strict=True)
    score = Metric.build("hits1").measure([Reply("", (), one.conversation, ranking=each) for one, each in pairs])
    assert round(score.value, 1) == hits
    assert "|n:7801|conv:1000|candidates:20|" in score.signature
