"""The F1 of the published PAA code, against its recorded values and scikit-learn."""

import json
import random
from pathlib import Path

import pytest
from sklearn.metrics import f1_score

from personae.errors import UserError
from personae.metrics import Metric, Reply, Score
from personae.metrics import sample as sampling
from personae.metrics.reply import Forced

NAME = "paa_teacher_forced_macro_f1"
RECORDED = ("pr-cr", "pr-cr.tau_persona", "direct_sum", "prr-crr")


def reply(predicted: list[int], gold: list[int], conversation: str = "") -> Reply:
    return Reply("", ("x",), conversation, forced=Forced(tuple(predicted), tuple(gold)))


def measure(replies: list[Reply]) -> Score:
    return Metric.build(NAME).measure(replies)


def made(count: int, conversations: int) -> list[Reply]:
    draw = random.Random(3)
    rows = [(draw.choices(range(30), k=6), draw.choices(range(20), k=6)) for _ in range(count)]
    return [reply(*row, str(at % conversations)) for at, row in enumerate(rows)]


def by_sklearn(replies: list[Reply]) -> float:
    predicted = [token for each in replies for token in each.forced.predicted]
    gold = [token for each in replies for token in each.forced.gold]
    return 100 * f1_score(predicted, gold, average="macro")


@pytest.mark.parametrize("name", RECORDED)
def test_values_of_the_published_code(reference: Path, name: str) -> None:
    found = json.loads((reference / "paa" / "metrics.json").read_text())["tiny"]
    assert found.keys() == set(RECORDED)
    value = next(value for key, value in found[name].items() if key.startswith("macro_f1"))
    score = measure([reply(*row) for row in zip(found[name]["argmax"], found[name]["labels"], strict=True)])
    assert score.value == pytest.approx(100 * value, abs=1e-12)


def test_it_is_scikit_learns_macro_f1() -> None:
    replies = made(50, 7)
    assert measure(replies).value == pytest.approx(by_sklearn(replies))


def test_an_id_counts_if_it_is_predicted_only() -> None:
    assert measure([reply([1, 2], [1, 1])]).value == pytest.approx(100 * (2 / 3 + 0) / 2)


def test_the_jackknife_leaves_out_whole_conversations() -> None:
    replies = made(12, 4)
    sample = sampling.Sample()
    tally = Metric.build(NAME).tally(sample)
    for chunk in sampling.chunks(replies, sample, 5):
        tally.add(chunk)
    rests = [[each for each in replies if each.conversation != name] for name in sample.names]
    assert tally.by_conversation()[:, 0] == pytest.approx([by_sklearn(rest) for rest in rests])


def test_more_conversations_than_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = made(60, 30)
    whole = measure(replies)
    monkeypatch.setattr(sampling, "LIMIT", 8)
    monkeypatch.setattr(sampling, "CHUNK", 5)
    sample = sampling.Sample()
    tally = Metric.build(NAME).tally(sample)
    for chunk in sampling.chunks(replies, sample, 5):
        tally.add(chunk)
    score = tally.score()
    assert score.value == pytest.approx(whole.value)
    assert "|conv:30|" in score.signature
    low, high = score.interval
    assert low < score.value < high


def test_the_signature_says_what_is_counted() -> None:
    signature = measure(made(5, 2)).signature
    assert "|positions:30|layout:padded-to-longest-of-4-in-file-order|" in signature


def test_without_a_model_it_says_what_to_run() -> None:
    with pytest.raises(UserError, match=f"evaluate RUN --metrics {NAME}"):
        measure([Reply("a", ("b",))])
    with pytest.raises(UserError, match="2 predicted ids, not 1"):
        measure([reply([1, 2], [1])])
