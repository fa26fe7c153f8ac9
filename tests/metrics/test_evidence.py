"""Metrics on evidence against counts by hand."""

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.evidence import ranks
from personae.metrics.reply import Weighed


def reply(known, attention, leave_one_out, question=None, conversation="c"):
    weighed = Weighed(tuple(known), tuple(attention), tuple(leave_one_out), question)
    return Reply("a", ("a",), conversation, weighed=weighed)


RIGHT = reply([1], [0.1, 0.6, 0.3], [0.0, 2.0, -1.0], conversation="a")
WRONG = reply([0], [0.1, 0.6, 0.3], [3.0, 2.0, -1.0], conversation="b")


def value(name: str, *replies: Reply) -> float:
    return Metric.build(name).measure(replies).value


def test_the_heaviest_text_is_the_known_one_or_not():
    assert value("evidence_accuracy_attention", RIGHT, WRONG) == 0.5
    assert value("evidence_accuracy_leave_one_out", RIGHT, WRONG) == 1.0


def test_the_question_stands_aside():
    """It is heaviest by attention and known, and neither helps."""
    asked = reply([0, 2], [0.1, 0.2, 0.7], [1.0, 0.5, 9.0], question=2)
    score = Metric.build("evidence_accuracy_attention").measure([asked])
    assert score.value == 0.0
    assert "chance:0.5000" in score.signature
    assert "question_first:1.0000" in score.signature
    assert value("evidence_accuracy_leave_one_out", asked) == 1.0


def test_equally_heavy_texts_count_their_part():
    assert value("evidence_accuracy_attention", reply([0], [0.0, 0.0, 0.0, 0.0], [0.0] * 4)) == 0.25


def test_replies_without_evidence_do_not_count():
    nothing = reply([], [0.9, 0.1], [0.0, 1.0])
    only_the_question = reply([1], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0], question=1)
    no_choice = reply([0], [0.9, 0.1], [1.0, 0.0], question=1)
    unknown = reply([0], [None, None], [None, 1.0])
    plain = Reply("a", ("a",))
    score = Metric.build("evidence_accuracy_attention").measure(
        [RIGHT, nothing, only_the_question, no_choice, unknown, plain]
    )
    assert (score.value, "asked:1" in score.signature.split("|")) == (1.0, True)
    with pytest.raises(UserError, match="personae explain"):
        Metric.build("evidence_accuracy_attention").measure([plain, nothing])


def test_a_model_without_attention_has_leave_one_out_only():
    pooled = reply([1], [None, None, None], [0.0, 2.0, -1.0])
    assert not Metric.build("evidence_accuracy_attention").applies([pooled])
    assert not Metric.build("evidence_agreement").applies([pooled])
    assert Metric.build("evidence_accuracy_leave_one_out").applies([pooled])
    assert not Metric.build("evidence_accuracy_leave_one_out").applies([Reply("a", ("a",))])


def test_agreement_of_the_heaviest():
    score = Metric.build("evidence_agreement").measure([RIGHT, WRONG])
    assert score.value == 0.5
    assert "chance:0.3333" in score.signature


def test_rank_correlation_is_spearmans():
    """Without ties 1 - 6 sum d^2 / (n (n^2 - 1)); a view that tells nothing apart has none."""
    given = reply([0], [0.1, 0.2, 0.3, 0.4], [1.0, 3.0, 2.0, 4.0])
    flat = reply([0], [0.25] * 4, [1.0, 3.0, 2.0, 4.0])
    assert value("evidence_correlation", given, flat) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert value("evidence_correlation", reply([0], [1.0, 2.0], [5.0, 4.0])) == pytest.approx(-1)


def test_equal_weights_share_their_ranks():
    assert ranks([0.3, 0.1, 0.3, 0.9]).tolist() == [2.5, 1.0, 2.5, 4.0]


def test_the_interval_is_drawn_by_conversation():
    replies = [reply([at % 2], [0.9, 0.1], [0.9, 0.1], conversation=f"c{at % 10}") for at in range(40)]
    score = Metric.build("evidence_accuracy_attention").measure(replies)
    assert score.value == 0.5
    low, high = score.interval
    assert 0.1 <= low < 0.5 < high <= 0.9
