"""Published numbers on ConvAI2 validation, reproduced from the authors' own replies."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from personae.data import Reader
from personae.metrics import Metric, Score
from personae.metrics.floors import CONVAI2_CONSTANT, Floor, best_constant
from personae.text.dialogue import Dialogue

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def convai2(shared_data: Path) -> list[Dialogue]:
    return list(Reader.build("convai2").read(shared_data / "convai2" / "valid_self_original.txt"))


def pairs(reference: Path, name: str) -> Pairs:
    """Gold and decoded reply, line by line."""
    text = (reference / "paa" / f"official_{name}.txt").read_text()
    return re.findall(r"^GT: (.*)\nPD: (.*)$", text, re.MULTILINE)


def measure(name: str, found: Pairs) -> Score:
    return Metric.build(name).score([reply for _, reply in found], [[gold] for gold, _ in found])


def letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


@pytest.mark.parametrize(
    ("name", "recorded", "rounded"),
    [
        ("PAA", "PAA.txt", {"bleu_p1": 20.50, "bleu_p2": 4.17, "f1": 16.06, "paa_dist1": 1.31, "paa_dist2": 5.21}),
        (
            "encoder_gpt",
            "encoder_gpt.txt",
            {"bleu_p1": 16.78, "bleu_p2": 1.69, "f1": 11.62, "paa_dist1": 0.12, "paa_dist2": 0.24},
        ),
    ],
)
def test_scores_of_the_authors_replies(reference: Path, name: str, recorded: str, rounded: dict[str, float]) -> None:
    """The paper cuts Encoder-GPT2's Dist, 0.116 and 0.239, to 0.11 and 0.23."""
    found = pairs(reference, name)
    values = {metric: measure(metric, found).value for metric in ("bleu", *rounded)}
    assert {metric: round(values[metric], 2) for metric in rounded} == rounded
    outputs = json.loads((reference / "paa" / "metrics.json").read_text())["official_outputs"]
    exact = next(value for key, value in outputs.items() if key.startswith(recorded))
    assert values["bleu"] == pytest.approx(exact["sacrebleu.score"])
    assert [values["bleu_p1"], values["bleu_p2"]] == pytest.approx(exact["sacrebleu.precisions"][:2])
    assert values["f1"] == pytest.approx(100 * exact["parlai_word_f1_mean"])
    for order in (1, 2):
        assert values[f"paa_dist{order}"] == pytest.approx(100 * exact[f"dist{order}"], rel=1e-12)


def test_the_authors_golds_are_validation_replies(reference: Path, convai2: list[Dialogue]) -> None:
    """All but 50: in dialogues of over 10 turns their preprocessing repeats one turn for the first ones."""
    golds = Counter(letters(gold) for gold, _ in pairs(reference, "PAA"))
    ours = Counter(letters(dialogue.response) for dialogue in convai2)
    assert golds.total() == ours.total() == 7801
    assert golds.keys() <= ours.keys()
    assert (golds - ours).total() == 50


@pytest.mark.parametrize(
    ("constant", "f1"), [(CONVAI2_CONSTANT, 22.98), ("i do not have any . i like to do it and you ?", 19.29)]
)
def test_constants_beat_published_systems_on_f1(convai2: list[Dialogue], constant: str, f1: float) -> None:
    score = Metric.build("f1").score([constant] * 7801, [dialogue.golds for dialogue in convai2])
    assert round(score.value, 2) == f1


def test_the_constant_beats_paa_on_unigram_precision(convai2: list[Dialogue]) -> None:
    score = Metric.build("bleu_p1").measure(Floor.build("constant").replies(convai2))
    assert round(score.value, 1) == 20.7


def test_the_search_finds_the_constant(convai2: list[Dialogue]) -> None:
    assert best_constant([dialogue.response for dialogue in convai2]) == CONVAI2_CONSTANT


def test_the_search_finds_a_fluent_constant_above_that_of_the_literature(convai2: list[Dialogue]) -> None:
    floor = Floor.build("constant:fluent", training=convai2)
    assert floor.text == "i like to do . what are you ? i am well , that is my favorite"
    assert round(Metric.build("f1").measure(floor.replies(convai2)).value, 2) == 21.24


def test_half_width_of_f1_by_conversation(convai2: list[Dialogue]) -> None:
    score = Metric.build("f1").measure(Floor.build("copy_last").replies(convai2))
    assert "|n:7801|conv:1000|" in score.signature
    low, high = score.interval or (0, 0)
    assert (high - low) / 2 == pytest.approx(0.32, abs=0.05)
