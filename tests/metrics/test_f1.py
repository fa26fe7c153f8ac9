"""Word F1 equals ParlAI's, and is printed beside a constant that beats every system."""

import json
from pathlib import Path

import pytest

from personae.metrics import Metric, Reply
from personae.metrics.f1 import word_f1
from personae.metrics.normalize import normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat's AN animal!", "cat s animal"),
        ("a an the", ""),
        ("don\u2019t \u201cquote\u201d", "don\u2019t \u201cquote\u201d"),
        ("under_score /slash\\back ~ ^ ` | { } < > = @ #", "under score slash back"),
        ("theatre thea the", "theatre thea"),
    ],
)
def test_normalisation(text: str, expected: str) -> None:
    assert normalize(text) == expected


def test_words_count_as_often_as_they_occur() -> None:
    assert word_f1("i i i i like dogs", ["i like like dogs"]) == pytest.approx(2 * 3 / (6 + 4))


def test_the_best_reference_counts() -> None:
    assert word_f1("yes , i do .", ["no , i do not .", "yes i do"]) == 1


@pytest.mark.parametrize(("prediction", "gold"), [("", "hello"), ("hello", ""), ("the", "a"), ("x", "y")])
def test_nothing_shared_is_zero(prediction: str, gold: str) -> None:
    assert word_f1(prediction, [gold]) == 0


def test_it_is_a_mean_over_replies_in_percent_and_empty_predictions_count() -> None:
    score = Metric.build("f1").score(["x y", "", "x"], [["x y"], ["x"], ["x x x"]])
    assert score.value == pytest.approx(100 * (1 + 0 + 0.5) / 3)
    assert score.signature.startswith("f1|n:3|conv:3|norm:parlai|refs:max|avg:reply|")


def test_two_hundred_turns_are_uncertain_by_more_than_published_gaps() -> None:
    replies = [Reply("i like dogs", ("i like cats" if i % 3 else "no",), str(i)) for i in range(200)]
    low, high = Metric.build("f1").measure(replies).interval or (0, 0)
    assert high - low > 2


def test_it_equals_parlai(reference: Path) -> None:
    recorded = json.loads((reference / "adand" / "parlai_metrics.json").read_text())
    for case in recorded["cases"]:
        assert normalize(case["guess"]) == case["norm_guess"]
        assert [normalize(answer) for answer in case["answers"]] == case["norm_answers"]
        assert word_f1(case["guess"], case["answers"]) == pytest.approx(case["f1"])
