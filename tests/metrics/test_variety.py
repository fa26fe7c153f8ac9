"""Variety and length as single papers count them, against what their own code gave."""

import math
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from personae.metrics import Metric, Reply
from personae.metrics import entropy as entropy_module
from personae.metrics import sample as sample_module
from personae.metrics.bootstrap import jackknife_interval
from personae.metrics.normalize import cleaned
from tests.metrics.recorded import dialogved, load, multi_source, value


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_is_adands_distinct(reference: Path, order: int) -> None:
    recorded = load(reference / "adand" / "embedding_metrics.json")
    corpus = recorded["corpus"]
    replies = [case["pred"] for case in recorded["cases"]]
    assert value(f"adand_dist{order}", replies, [[""]] * len(replies)) == pytest.approx(100 * corpus[f"dist{order}"])


@pytest.mark.parametrize("order", [1, 2])
def test_adands_distinct_is_dialogveds_between_replies(reference: Path, order: int) -> None:
    """Theirs adds 1e-5 to the count."""
    folder = reference / "dialogved" / "metrics"
    replies, single, _ = dialogved(folder)
    recorded = load(folder / "syn.scores.nltk3.5.json")[f"inter{order}"]
    assert value(f"adand_dist{order}", replies, single) == pytest.approx(100 * recorded, rel=1e-6)


def test_it_is_cao_et_al(reference: Path) -> None:
    folder = reference / "multi-source" / "metrics"
    recorded, pairs = load(folder / "metrics.json"), multi_source(folder)
    assert value("cao_dist2", *pairs) == pytest.approx(100 * recorded["corpus dist 1,2"][1], rel=1e-12)
    assert value("entropy4", *pairs) == pytest.approx(recorded["entropy 1..4"][3], rel=1e-12)
    assert value("cao_length", *pairs) == pytest.approx(recorded["avg_len (after normalize_answer)"], rel=1e-12)
    assert value("length", *pairs) == pytest.approx(recorded["raw avg len (whitespace, no normalisation)"], rel=1e-12)


def test_published_distincts_count_different_things() -> None:
    texts, golds = ["The dog, the dog.", ""], [["x"], ["x"]]
    # the dog , the dog . = 4 of 6; pairs: the-dog dog-, ,-the the-dog dog-. = 4 by 6 words.
    assert value("paa_dist1", ["the dog, the dog.", ""], golds) == pytest.approx(100 * 4 / 6)
    assert value("paa_dist2", ["the dog, the dog.", ""], golds) == pytest.approx(100 * 4 / 6)
    # The dog, the dog. = 4 of 4, 3 pairs of 3, 2 triples of 2; without articles: dog, dog.
    assert [value(f"adand_dist{order}", texts, golds) for order in (1, 2, 3)] == [100, 100, 100]
    assert value("cao_dist2", [*texts, "a dog, dog."], [*golds, ["x"]]) == pytest.approx(100 / 2)
    assert value("dist3", ["a b c b c b", "b c b"], [["x"], ["x"]]) == pytest.approx(100 * 2 / 4)


def test_clean_up_of_decoded_text() -> None:
    assert cleaned("i do n't know , it 's \" so \" . . . is n't it ? we ' re") == (
        "i don't know, it's \" so \"... isn't it? we're"
    )


def test_an_empty_reply_has_no_words_but_one_in_cao_et_al() -> None:
    assert value("length", ["", "the dog ."], [["x"], ["x"]]) == 1.5
    assert value("cao_length", ["", "the dog ."], [["x"], ["x"]]) == 1.5
    assert value("cao_length", ["dog ."], [["x"]]) == 2


def entropy(texts: list[str]) -> float:
    counts = Counter(
        tuple(words[at : at + 4]) for text in texts for words in [text.split()] for at in range(len(words) - 3)
    )
    total = counts.total()
    return -sum(count / total * math.log(count / total) for count in counts.values())


TEXTS = ["b c d e f", "b c d e", "c d e f g b c d e", "x y", "", "b c d e b c d e", "q r s t u v"]


def said() -> list[Reply]:
    return [Reply(text, (), f"c{at // 2}") for at, text in enumerate(TEXTS)]


def test_entropy_by_hand() -> None:
    score = Metric.build("entropy4").measure(said())
    assert score.value == pytest.approx(entropy(TEXTS))
    assert "|grams:17|" in score.signature


def test_entropy_without_each_conversation() -> None:
    score = Metric.build("entropy4").measure(said())
    names = sorted({reply.conversation for reply in said()})
    left_out = [entropy([each.prediction for each in said() if each.conversation != name]) for name in names]
    assert score.interval == pytest.approx(jackknife_interval(score.value, left_out))


def test_entropy_of_replies_too_short_for_a_4_gram() -> None:
    score = Metric.build("entropy4").measure([Reply("a b c", ()), Reply("", ())])
    assert (score.value, score.interval) == (0, None)


def test_entropy_by_blocks_is_the_same_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_module, "LIMIT", 3)
    monkeypatch.setattr(sample_module, "CHUNK", 2)
    score = Metric.build("entropy4").measure(said())
    assert score.value == pytest.approx(entropy(TEXTS))
    assert "|blocks:" in score.signature


def test_memory_of_entropy_is_that_of_different_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words again and again by the same speaker cost nothing more."""
    monkeypatch.setattr(entropy_module, "_AT_LEAST", 1 << 14)

    def peak(number: int) -> int:
        tracemalloc.start()
        Metric.build("entropy4").measure(Reply("a b c d e f g", (), f"c{at % 7}") for at in range(number))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    first, second = (peak(number) for number in (20_000, 60_000))
    assert second < 1.5 * first
