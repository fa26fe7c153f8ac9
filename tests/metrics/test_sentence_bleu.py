"""BLEU as single papers and tools compute it, against what their own code gave."""

import json
from pathlib import Path

import numpy as np
import pytest

from personae.metrics import Metric
from personae.metrics.bleu_nltk35 import method7
from tests.metrics.recorded import dialogved, each, load, value


def by_rule(recorded: float | str) -> float:
    """A reply for which NLTK 3.5 divides by zero counts 0."""
    assert not isinstance(recorded, str) or "ZeroDivision" in recorded
    return 0.0 if isinstance(recorded, str) else recorded


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_nltk_3_5(reference: Path, order: int) -> None:
    folder = reference / "dialogved" / "metrics"
    replies, single, _ = dialogved(folder)
    recorded = load(folder / "syn.scores.nltk3.5.json")
    name = f"bleu_nltk35_method7_{order}"
    expected = [by_rule(pair[order - 1]) for pair in recorded["per_sentence_bleu12"]]
    assert each(name, replies, single) == pytest.approx(expected, rel=1e-12)
    assert value(name, replies, single) == pytest.approx(recorded[f"bleu{order}"], rel=1e-12)


def test_it_is_not_the_nltk_after(reference: Path) -> None:
    folder = reference / "dialogved" / "metrics"
    replies, single, _ = dialogved(folder)
    later = load(folder / "syn.scores.nltk3.9.1.json")
    assert value("bleu_nltk35_method7_2", replies, single) != pytest.approx(later["bleu2"], rel=1e-3)


def test_a_perfect_reply_scores_a_third_more() -> None:
    # p'_1 = (1 + 1 + 1 + 1) / 3
    assert value("bleu_nltk35_method7_1", ["a b c d e"], [["a b c d e"]]) == pytest.approx(4 / 3)


def test_one_word_is_undefined_and_counts_nothing() -> None:
    score = Metric.build("bleu_nltk35_method7_1").score(["maybe", "a b c d e"], [["maybe"], ["a b c d e"]])
    assert score.value == pytest.approx(2 / 3)
    assert "|undefined:0|" in score.signature


def test_method_7_by_hand() -> None:
    # Three words, two match, no pair does: p = 2/3, then (1 + 5 / ln 3) / 2, (2 + 5 / ln 3) / 1, (3 + 5 / ln 3) / 1, 0.
    step = 5 / np.log(3)
    raised = [2 / 3, (1 + step) / 2, 2 + step, 3 + step, 0]
    expected, before = [], raised[0] + 1
    for at in range(4):
        before = (before + raised[at] + raised[at + 1]) / 3
        expected.append(before)
    found = method7(np.array([[2.0, 0, 0, 0, 0]]), np.array([[3.0, 2, 1, 1, 1]]), np.array([3.0]))
    assert found[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_it_is_parlais_bleu(reference: Path, order: int) -> None:
    cases = load(reference / "adand" / "parlai_metrics.json")["cases"]
    guesses, answers = [case["guess"] for case in cases], [case["answers"] for case in cases]
    expected = [case[f"bleu{order}"] for case in cases]
    assert each(f"parlai_bleu{order}", guesses, answers) == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert value(f"parlai_bleu{order}", guesses, answers) == pytest.approx(np.mean(expected))


def test_parlais_bleu_of_a_short_perfect_reply_is_next_to_nothing() -> None:
    assert value("parlai_bleu4", ["x y"], [["x y"]]) == pytest.approx(1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_it_is_the_caption_tools_bleu(reference: Path, order: int) -> None:
    folder = reference / "dialogved" / "metrics"
    replies, _, several = dialogved(folder)
    recorded = json.loads((folder / "syn.scores.nltk3.5.json").read_text())["coco"]
    assert value(f"coco_bleu{order}", replies, several) == pytest.approx(recorded[f"Bleu_{order}"], rel=1e-9)


def test_caption_bleu_of_nothing_shared_is_zero() -> None:
    assert value("coco_bleu2", ["x z y", ""], [["x y"], ["x"]]) == 0
    assert value("coco_bleu1", ["x z y", ""], [["x y"], ["x"]]) == pytest.approx(2 / 3)
