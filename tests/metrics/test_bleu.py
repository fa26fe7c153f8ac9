"""BLEU is sacrebleu's, and its statistics add up to it."""

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from personae.metrics import Metric, Reply
from personae.metrics.bleu import bleu_statistics, corpus_bleu

PREDICTIONS = ["i am good , i just got off work .", "", "no !", "i like the old movies a lot , do you ?"]
REFERENCES = [
    "i am good , i just got off work and tired .",
    "hello .",
    "no .",
    "i like old movies , do you ?",
]
OTHERS = ["i am fine .", "hi there", "not at all", "do you like the old movies a lot ?"]
REPLIES = [Reply(p, (r,), str(i)) for i, (p, r) in enumerate(zip(PREDICTIONS, REFERENCES, strict=True))]


def test_it_equals_sacrebleu_on_one_reference() -> None:
    expected = BLEU().corpus_score(PREDICTIONS, [REFERENCES])
    assert Metric.build("bleu").measure(REPLIES).value == expected.score
    assert Metric.build("bleu_p1").measure(REPLIES).value == expected.precisions[0]
    assert Metric.build("bleu_p2").measure(REPLIES).value == expected.precisions[1]


def test_it_equals_sacrebleu_on_several_references() -> None:
    golds = list(zip(REFERENCES, OTHERS, strict=True))
    score = Metric.build("bleu").score(PREDICTIONS, golds)
    assert score.value == BLEU().corpus_score(PREDICTIONS, [REFERENCES, OTHERS]).score
    assert "sacrebleu:[nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:" in score.signature


def test_replies_may_differ_in_their_number_of_references() -> None:
    replies = [Reply("no !", ("no .", "no !")), Reply("hi", ("hi",))]
    score = Metric.build("bleu_p1").measure(replies)
    assert score.value == 100
    assert "nrefs:var" in score.signature


def test_precisions_have_no_brevity_penalty() -> None:
    texts, golds = ["x y"], [["x y and very much more besides"]]
    assert Metric.build("bleu_p1").score(texts, golds).value == 100
    assert Metric.build("bleu_p2").score(texts, golds).value == 100
    assert Metric.build("bleu").score(texts, golds).value == 0


def test_hand_computed_precisions() -> None:
    # 5 of 6 words match, as do 3 of 5 pairs: (a b) (b c) and (e f), not (c x) (x e).
    texts, golds = ["a b c x e f"], [["a b c d e f"]]
    assert Metric.build("bleu_p1").score(texts, golds).value == pytest.approx(100 * 5 / 6)
    assert Metric.build("bleu_p2").score(texts, golds).value == pytest.approx(100 * 3 / 5)


def test_an_empty_prediction_costs_brevity() -> None:
    rows = bleu_statistics(REPLIES)
    np.testing.assert_array_equal(rows[1], [0, 2, *[0] * 8])
    assert corpus_bleu(rows.sum(axis=0)).bp < corpus_bleu(np.delete(rows, 1, axis=0).sum(axis=0)).bp


def test_nothing_said_at_all_scores_zero() -> None:
    score = Metric.build("bleu").score(["", ""], [["x"], ["y"]])
    assert (score.value, score.interval) == (0, (0, 0))
