"""Distinct n-grams are divided by n-grams of the same order; intervals leave conversations out."""

import json
from pathlib import Path

import pytest

from personae.metrics import Metric, Reply
from personae.metrics.bootstrap import jackknife_interval


def test_pairs_are_divided_by_pairs() -> None:
    # Words: x y x | x y = 2 of 5. Pairs: xy yx | xy = 2 of 3; PAA's published code divides by the 5 words.
    texts, golds = ["x y x", "x y"], [[""], [""]]
    assert Metric.build("dist1").score(texts, golds).value == pytest.approx(100 * 2 / 5)
    assert Metric.build("dist2").score(texts, golds).value == pytest.approx(100 * 2 / 3)


def test_pairs_do_not_cross_replies_and_articles_are_gone() -> None:
    score = Metric.build("dist2").score(["I see the cat.", "x"], [["y"], ["y"]])
    assert score.value == 100
    assert score.signature.startswith("dist2|n:2|conv:2|norm:parlai|per:2-gram|grams:2|")


def test_no_references_are_needed_and_silence_is_zero() -> None:
    score = Metric.build("dist1").measure([Reply("", (), "a"), Reply("the", (), "b")])
    assert (score.value, score.interval) == (0, None)


def test_leaving_out_in_one_pass_equals_leaving_out_for_real() -> None:
    texts = ["i like dogs", "i like cats", "you like dogs", "no", "no no i do", ""]
    replies = [Reply(text, (), str(i // 2)) for i, text in enumerate(texts)]
    metric = Metric.build("dist1")
    left_out = [metric.measure([r for r in replies if r.conversation != name]).value for name in "012"]
    score = metric.measure(replies)
    low, high = jackknife_interval(score.value, left_out) or (0, 0)
    assert score.interval == pytest.approx((max(0, low), min(100, high)))


def test_the_interval_stays_within_percent() -> None:
    replies = [Reply(text, (), text) for text in ("x", "y y y y y", "z")]
    low, high = Metric.build("dist1").measure(replies).interval or (-1, 101)
    assert 0 <= low < high <= 100


def test_it_equals_parlai(reference: Path) -> None:
    recorded = json.loads((reference / "adand" / "parlai_metrics.json").read_text())
    guesses = [case["guess"] for case in recorded["cases"]]
    for order, expected in recorded["interdistinct_over_all_guesses"].items():
        score = Metric.build(f"dist{order}").score(guesses, [[""]] * len(guesses))
        assert score.value == pytest.approx(100 * expected)
