"""ROUGE-L, CIDEr and NIST against what the published tools gave."""

import math
import random
from collections import Counter
from pathlib import Path

import pytest

from personae.metrics import Metric, Reply
from personae.metrics import sample as sample_module
from personae.metrics.rouge import longest_common_subsequence
from tests.metrics.recorded import dialogved, load, multi_source, value

LETTERS = "abcdef"


@pytest.mark.parametrize(("name", "key"), [("rouge_l", "ROUGE_L"), ("cider", "CIDEr")])
def test_it_is_the_caption_tools(reference: Path, name: str, key: str) -> None:
    folder = reference / "dialogved" / "metrics"
    replies, _, several = dialogved(folder)
    recorded = load(folder / "syn.scores.nltk3.5.json")["coco"]
    assert value(name, replies, several) == pytest.approx(recorded[key], rel=1e-12)


def test_nist_is_mtevals(reference: Path) -> None:
    """Recorded with four or five decimals."""
    folder = reference / "multi-source" / "metrics"
    recorded = load(folder / "metrics.json")["nist cumulative 1..4"][3]
    assert value("nist4", *multi_source(folder)) == pytest.approx(recorded, abs=1.5e-5)


def test_longest_common_subsequence_by_the_table() -> None:
    draw = random.Random(3)
    for _ in range(200):
        one, other = ("".join(draw.choices(LETTERS, k=draw.randint(0, 9))) for _ in "xy")
        table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
        for i, left in enumerate(one):
            for j, right in enumerate(other):
                table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
        assert longest_common_subsequence(one, other) == table[-1][-1]


def test_rouge_takes_the_best_precision_and_the_best_recall() -> None:
    # "a b c": precision 2/3 by the long reference, recall 1 by the short one.
    expected = (1 + 1.44) * (2 / 3) * 1 / (1 + 1.44 * 2 / 3)
    assert value("rouge_l", ["a b c"], [["a b x y", "a"]]) == pytest.approx(expected)
    assert value("rouge_l", ["", "x"], [["a"], [""]]) == 0


def bits_of(golds: list[str], gram: tuple[str, ...]) -> float:
    def count(wanted: tuple[str, ...]) -> int:
        cut = [text.split() for text in golds]
        size = len(wanted) or 1
        return sum(wanted in ((), tuple(words[at : at + size])) for words in cut for at in range(len(words) - size + 1))

    return math.log2(count(gram[:-1]) / count(gram))


def test_nist_by_hand_with_several_references() -> None:
    replies, golds = ["a b a b", "c"], [["a b b", "a a b"], ["c c d", "x"]]
    every = [text for each in golds for text in each]
    # Words matched: a 2 and b 2 of one reference each, c 1; pairs: a b once, since no reference has it twice.
    told = (2 * bits_of(every, ("a",)) + 2 * bits_of(every, ("b",)) + bits_of(every, ("c",))) / 5
    told += bits_of(every, ("a", "b")) / 3
    short = math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(min(1, 5 / (3 + 2))) ** 2)
    assert value("nist4", replies, golds) == pytest.approx(told * short)


def test_nist_halves_the_score_of_two_thirds_of_the_length() -> None:
    long, short = ["a b c", "a b c"], ["a b", "a b"]
    golds = [["a b c"], ["a b d"]]
    told = 2 * 2 * math.log2(6 / 2) / 4  # a and b, 2 of 6 words each; b is certain after a
    assert value("nist4", short, golds) == pytest.approx(0.5 * told)
    assert value("nist4", long, golds) > told / 2
    assert value("nist4", ["", ""], golds) == 0


def vector(text: str, order: int) -> Counter[str]:
    words = text.split()
    return Counter(" ".join(words[at : at + order]) for at in range(len(words) - order + 1))


def by_hand(replies: list[str], golds: list[list[str]]) -> float:
    """CIDEr-D from its formula, dict by dict."""
    scores = []
    for reply, own in zip(replies, golds, strict=True):
        for gold in own:
            total = 0.0
            for order in (1, 2, 3, 4):
                idf = Counter(gram for each in golds for gram in {g for text in each for g in vector(text, order)})
                one, other = (
                    {gram: n * math.log(len(golds) / max(1, idf[gram])) for gram, n in vector(text, order).items()}
                    for text in (reply, gold)
                )
                norms = [math.sqrt(sum(weight**2 for weight in each.values())) for each in (one, other)]
                dot = sum(min(weight, one.get(gram, 0)) * weight for gram, weight in other.items())
                total += dot / (norms[0] * norms[1]) if all(norms) else 0
            gap = max(0, len(reply.split()) - 1) - max(0, len(gold.split()) - 1)
            scores.append(10 * total / 4 * math.exp(-(gap**2) / 72) / len(own) / len(replies))
    return sum(scores)


def random_pairs(number: int) -> tuple[list[str], list[list[str]]]:
    draw = random.Random(5)

    def text(most: int) -> str:
        return " ".join(draw.choices(LETTERS, k=draw.randint(0, most)))

    return [text(8) for _ in range(number)], [[text(6) + " g" for _ in range(1 + at % 3)] for at in range(number)]


def test_cider_by_hand() -> None:
    replies, golds = random_pairs(12)
    assert value("cider", replies, golds) == pytest.approx(by_hand(replies, golds))


@pytest.mark.parametrize("name", ["cider", "nist4"])
def test_chunks_and_blocks_do_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replies, golds = random_pairs(30)
    whole = Metric.build(name).score(replies, golds)
    monkeypatch.setattr(sample_module.chunks, "__defaults__", (4,))
    assert Metric.build(name).score(replies, golds).value == pytest.approx(whole.value)
    monkeypatch.setattr(sample_module, "LIMIT", 7)
    folded = Metric.build(name).score(replies, golds)
    assert folded.value == pytest.approx(whole.value)
    assert "|blocks:" in folded.signature


def test_cider_of_one_reply_is_zero_since_no_word_is_rarer_than_another() -> None:
    assert Metric.build("cider").measure([Reply("a b", ("a b",))]).value == 0
