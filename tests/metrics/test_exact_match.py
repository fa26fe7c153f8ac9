"""Exact match is ParlAI's accuracy."""

from pathlib import Path

import pytest

from tests.metrics.recorded import each, load, value


def test_it_is_parlais_accuracy(reference: Path) -> None:
    cases = load(reference / "adand" / "parlai_metrics.json")["cases"]
    guesses, answers = [case["guess"] for case in cases], [case["answers"] for case in cases]
    expected = [100 * case["exact"] for case in cases]
    assert 0 < sum(expected) < 100 * len(expected)
    assert each("exact_match", guesses, answers) == expected


def test_any_reference_will_do() -> None:
    assert value("exact_match", ["The dog!", "a cat"], [["cat", "dog"], ["dog"]]) == pytest.approx(50)
