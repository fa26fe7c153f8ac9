"""METEOR's formula and alignment, and the program itself where it is installed."""

import itertools
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.meteor_align import Aligned, align
from personae.metrics.meteor_score import MeteorSums
from tests.metrics.recorded import dialogved, each, load, multi_source, published, value

# Counts that the METEOR 1.5 program printed for the reply "the red kettle is on the stove , i think ." with the
# references "i think the red kettle is still on the stove ." and "the kettle is on the table .".
KETTLE = [11, 11, 7, 6, 4, 4, 6, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 10]


def test_score_of_the_programs_counts_by_hand() -> None:
    precision = (0.75 * 4 + 0.25 * 6) / (0.75 * 4 + 0.25 * 7)
    recall = (0.75 * 4 + 0.25 * 6) / (0.75 * 5 + 0.25 * 6)
    mean = precision * recall / (0.85 * precision + 0.15 * recall)
    expected = mean * (1 - 0.6 * (4 / 10) ** 0.2)
    assert MeteorSums().score(np.array([KETTLE], float))[0] == pytest.approx(expected)


def test_alignment_counts_chunks_in_both_texts() -> None:
    words = ["the", "red", "kettle", "is", "on", "the", "stove", ",", "i", "think", "."]
    gold = ["i", "think", "the", "red", "kettle", "is", "still", "on", "the", "stove", "."]
    assert align(words, gold, words, gold) == Aligned(10, 0, 4)


def test_stems_match_what_words_do_not() -> None:
    assert align(["dogs", "run"], ["dog", "running"], ["dog", "run"], ["dog", "run"]) == Aligned(0, 2, 1)
    assert align(["dog", "dogs"], ["dogs"], ["dog", "dog"], ["dog"]) == Aligned(1, 0, 1), "the exact one is taken"


def slow(words: list[str], gold: list[str]) -> tuple[int, int]:
    """Most matches and fewest chunks over all alignments."""
    found = (0, 0)
    for places in itertools.product([None, *range(len(gold))], repeat=len(words)):
        taken = [place for place in places if place is not None]
        right = all(place is None or gold[place] == word for word, place in zip(words, places, strict=True))
        if len(set(taken)) < len(taken) or not right:
            continue
        pairs = zip(places, (None, *places)[: len(places)], strict=True)
        chunks = sum(here is not None and (before is None or here != before + 1) for here, before in pairs)
        found = max(found, (len(taken), -chunks))
    return found[0], -found[1]


def test_alignment_is_the_best_of_all() -> None:
    draw = random.Random(2)
    for _ in range(60):
        words, gold = (draw.choices("abc", k=draw.randint(0, 5)) for _ in "xy")
        aligned = align(words, gold, words, gold)
        assert (aligned.exact, aligned.chunks) == slow(words, gold)


def test_a_perfect_reply_has_no_penalty_and_silence_no_score() -> None:
    assert value("meteor_exact_stem", ["A dog runs"], [["a dog runs"]]) == 1
    assert value("meteor_exact_stem", ["", "x"], [["a"], [""]]) == 0
    assert value("meteor_exact_stem", ["dogs ran"], [["cat", "dog ran", "x"]]) == pytest.approx((1 + 0.6) / 2)
    # Two chunks of two matched words: gamma (2 / 2)^beta off, of the best reference.
    assert value("meteor_exact_stem", ["ran dog"], [["cat", "dog ran"]]) == pytest.approx(1 - 0.6)


# What `java -jar meteor-1.5.jar PAIRS_SAID PAIRS_GOLD -l en -lower -m "exact stem" -w "1 0.6" -p "0.85 0.2 0.6 0.5"`
# printed for each pair, and for all of them.
PAIRS = {
    "the dogs are running in the park , they run and run .": "a dog runs in parks and the dogs run again .",
    "my mother sings songs in the kitchen every day": "every day my mother sings a song in her kitchen",
    "a cat and a dog and a bird": "a dog and a cat and the birds",
    "i painted two houses last year": "last year we were painting a house",
    "the end of the day is the end of the road .": "at the end of the road is the end of the day .",
    "nothing at all": "something else",
}
PRINTED = [
    *(0.2762426505492056, 0.3685573026771243, 0.4071601644771655, 0.20253313552026106, 0.48406698485029875, 0.0),
]
PRINTED_FOR_ALL = 0.34089534427656565


def test_it_is_the_program_with_the_same_stages() -> None:
    said, golds = list(PAIRS), [[gold] for gold in PAIRS.values()]
    assert each("meteor_exact_stem", said, golds) == pytest.approx(PRINTED, rel=1e-9)
    assert value("meteor_exact_stem", said, golds) == pytest.approx(PRINTED_FOR_ALL, rel=1e-9)


@pytest.mark.parametrize(("jar", "said"), [(None, "no path is no file"), ("nowhere.jar", "nowhere.jar is no file")])
def test_without_the_program_it_says_what_to_give(jar: str | None, said: str) -> None:
    metric, replies = Metric.build("meteor", jar=jar), [Reply("a", ("b",))]
    assert metric.applies(replies) == (jar is not None)
    with pytest.raises(UserError, match=said):
        metric.measure(replies)


def test_a_program_that_fails_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "meteor-1.5.jar").write_text("no jar")
    with pytest.raises(UserError, match=r"failed: .*; give the meteor-1.5.jar|needs Java"):
        Metric.build("meteor", jar=tmp_path / "meteor-1.5.jar").measure([Reply("a", ("b",))])


def test_without_java_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meteor-1.5.jar").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs Java, which is not installed"):
        Metric.build("meteor", jar=tmp_path / "meteor-1.5.jar").measure([Reply("a", ("b",))])


@pytest.fixture
def jar() -> Path:
    """The program itself: its path in the environment variable METEOR_JAR."""
    path = Path(os.environ.get("METEOR_JAR", "meteor-1.5.jar"))
    if not path.is_file() or not shutil.which("java"):
        pytest.skip("set METEOR_JAR to meteor-1.5.jar and install Java")
    return path


@pytest.mark.slow
def test_the_program_gives_the_published_numbers(jar: Path, reference: Path) -> None:
    folder = reference / "dialogved" / "metrics"
    replies, _, several = dialogved(folder)
    recorded = load(folder / "syn.scores.nltk3.5.json")["coco"]["METEOR"]
    assert value("meteor", replies, several, jar=jar) == pytest.approx(recorded, rel=1e-9)
    folder = reference / "multi-source" / "metrics"
    (line,) = published(load(folder / "metrics.json"), "METEOR 1.5 jar")
    assert value("meteor", *multi_source(folder), jar=jar) == pytest.approx(float(line.split()[-1]), rel=1e-9)


@pytest.mark.slow
def test_the_program_hears_odd_texts(jar: Path) -> None:
    metric = Metric.build("meteor", jar=jar)
    score = metric.score(["", "a ||| b\nc", "x"], [["a"], ["a b c"], [""]])
    assert 0 < score.value < 1
    assert "|n:3|" in score.signature
