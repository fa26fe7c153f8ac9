"""Statistics by conversation: they give the metrics' own values and intervals, and paired differences."""

import math

import numpy as np
import pytest

from personae.compare.statistics import by_conversation
from personae.metrics import Metric, Reply
from personae.metrics.base import Score, Tally
from personae.metrics.sample import Sample, chunks
from personae.metrics.summed import Summed

KINDS = ("persona", "context", "both")


def said(seed: int, conversations: int = 12) -> list[Reply]:
    """Random replies to three questions a conversation."""
    draw = np.random.default_rng(seed)
    words = ["red", "blue", "green", "dog", "cat", "?", "i"]
    gold = np.random.default_rng(99)
    replies = []
    for number in range(conversations):
        for kind in KINDS:
            reference = " ".join(gold.choice(words, 6))
            prediction = " ".join([*reference.split()[:4], *draw.choice(words, 3)])
            more = {"nats": float(draw.uniform(1, 9)), "tokens": 7, "answer": ("cat",), "tags": {"kind": kind}}
            replies.append(Reply(prediction, (reference,), f"talk {number}", **more))
    return replies


def statistics(metric: Metric, replies):
    """What ``metric`` keeps by conversation."""
    sample = Sample()
    tally = metric.tally(sample)
    for chunk in chunks(replies, sample):
        tally.add(chunk)
    return tally.by_conversation()


@pytest.fixture(params=Metric.names())
def metric(request) -> Metric:
    metric = Metric.build(request.param)
    if not metric.applies(said(0)):
        pytest.skip("does not apply to these replies")
    return metric


def test_one_run_has_the_metrics_own_value_and_interval(metric):
    replies = said(0)
    rows, measured = statistics(metric, replies), metric.measure(replies)
    assert rows is not None
    assert len(rows) == 12
    if isinstance(metric, Summed):
        assert metric.combine(rows.sum(0, keepdims=True))[0] == pytest.approx(measured.value)
    names = by_conversation(replies)["conversations"]
    assert metric.interval(names, measured.value, [rows]) == pytest.approx(measured.interval)


def test_a_run_differs_from_itself_by_nothing(metric):
    replies = said(0)
    rows = statistics(metric, replies)
    names = by_conversation(replies)["conversations"]
    assert metric.interval(names, 0.0, [rows, rows], [rows]) == pytest.approx((0, 0), abs=1e-9)


def test_the_interval_of_a_difference_holds_it(metric):
    one, other = statistics(metric, said(0)), statistics(metric, said(1))
    names = by_conversation(said(0))["conversations"]
    values = [metric.measure(said(seed)).value for seed in (0, 1)]
    low, high = metric.interval(names, values[0] - values[1], [one], [other])
    assert low <= values[0] - values[1] <= high


def test_a_paired_difference_by_hand():
    """Conversation i costs 10 i nats, and 1 more with the other: means swing, the difference is exactly -1."""
    kind = Metric.build("nats_per_word")
    costs = [
        [Reply("", ("w",), f"talk {number}", nats=10.0 * number + more, tokens=1) for number in range(8)]
        for more in (0, 1)
    ]
    rows = [statistics(kind, replies) for replies in costs]
    names = by_conversation(costs[0])["conversations"]
    low, high = kind.interval(names, 35.0, rows[:1])
    assert high - low > 20
    assert kind.interval(names, -1.0, rows[:1], rows[1:]) == pytest.approx((-1.0, -1.0))


def test_the_mean_of_two_runs_by_hand():
    """Conversations right in one run each: with both runs every conversation counts a half, whichever is drawn."""
    kind = Metric.build("persona_accuracy")
    runs = [
        [
            Reply(
                "yes" if number % 2 == odd else "no", ("yes",), str(number), answer=("yes",), tags={"kind": "persona"}
            )
            for number in range(8)
        ]
        for odd in (0, 1)
    ]
    rows = [statistics(kind, replies) for replies in runs]
    names = by_conversation(runs[0])["conversations"]
    assert kind.interval(names, 0.5, rows[:1]) != (0.5, 0.5)
    assert kind.interval(names, 0.5, rows) == (0.5, 0.5)


def test_perplexity_beyond_all_numbers_raises_no_warning():
    kind = Metric.build("perplexity_token")
    replies = [Reply("", ("w",), str(number), nats=1e4, tokens=1) for number in range(3)]
    rows = statistics(kind, replies)
    assert math.isinf(kind.combine(rows)[0])
    kind.interval(["0", "1", "2"], math.nan, [rows], [rows])


def test_a_metric_without_statistics_is_left_out(monkeypatch):
    monkeypatch.setattr(Metric, "_classes", dict(Metric._classes))

    @Metric.register("silent")
    class SilentMetric(Metric):
        """Keeps nothing."""

        def tally(self, sample):
            return Silent()

    class Silent(Tally):
        def add(self, chunk):
            pass

        def score(self):
            return Score(1.0, "silent")

    found = by_conversation(said(0))
    assert "f1" in found["statistics"]
    assert "silent" not in found["statistics"]


def test_a_silent_model_has_no_statistics_of_distinct_words():
    replies = [Reply("", ("w",), str(number)) for number in range(3)]
    assert statistics(Metric.build("dist1"), replies) is None


def test_a_run_against_itself_has_no_effect(metric):
    rows = statistics(metric, said(0))
    found = metric.paired(0.0, [rows, rows], [rows])
    assert (found.p, found.effect) == (1, 0)
    assert found.test != "none"


def test_a_difference_has_the_sign_of_its_effect(metric):
    one, other = statistics(metric, said(0)), statistics(metric, said(1))
    gained = metric.measure(said(0)).value - metric.measure(said(1)).value
    found = metric.paired(gained, [one], [other])
    assert 0 < found.p <= 1
    if gained:
        assert math.copysign(1, found.effect) == math.copysign(1, gained)
        assert found.p == metric.paired(-gained, [other], [one]).p


def test_nats_that_differ_in_every_conversation_cannot_be_chance():
    """20 conversations cost 1 nat more each: the effect is that nat over the deviation of the rates."""
    kind = Metric.build("nats_per_word")
    more = [1.0 + 0.1 * (number % 3) for number in range(20)]
    costs = [
        [Reply("", ("w",), f"{number:02}", nats=10.0 * number + gap, tokens=1) for number, gap in enumerate(gaps)]
        for gaps in (more, [0.0] * 20)
    ]
    found = kind.paired(float(np.mean(more)), *([statistics(kind, replies)] for replies in costs))
    assert found.p < 0.001
    assert found.effect == pytest.approx(np.mean(more) / np.std(more, ddof=1))
