"""The traps that published numbers of this field fell into, one by one: none may open again.

Where a trap is tested at length elsewhere, its gist stands here too. Numbers of whole data sets need ``--reference``.
"""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from personae.data import Reader
from personae.metrics import Metric, Reply, Score
from personae.metrics.floors import CONVAI2_CONSTANT
from personae.ranking import Ranker
from personae.scoring.published import every_table
from personae.text.dialogue import Dialogue

FLUENT = "i do not have any . i like to do it and you ?"
TURNS = 7801


@pytest.fixture(scope="module")
def convai2(shared_data: Path) -> Path:
    """The validation file of ConvAI2."""
    return shared_data / "convai2" / "valid_self_original.txt"


@pytest.fixture(scope="module")
def dialogues(convai2: Path) -> list[Dialogue]:
    return list(Reader.build("convai2").read(convai2))


@pytest.fixture(scope="module")
def authors(reference: Path) -> list[Reply]:
    """Replies that the authors of PAA published, each with its gold reply."""
    text = (reference / "paa" / "official_PAA.txt").read_text()
    pairs = re.findall(r"^GT: (.*)\nPD: (.*)$", text, re.MULTILINE)
    return [Reply(said, (gold,), str(number)) for number, (gold, said) in enumerate(pairs)]


def constant(name: str, text: str, dialogues: list[Dialogue]) -> float:
    """What saying ``text`` to everything scores."""
    return Metric.build(name).score([text] * len(dialogues), [dialogue.golds for dialogue in dialogues]).value


def printed(key: str, row: str, name: str) -> float:
    """A published value."""
    rows = [table.rows[row] for table in every_table() if table.key == key and row in table.rows]
    (value,) = {values[name] for values in rows if name in values}
    return value


def half(score: Score) -> float:
    """Half the width of the interval."""
    low, high = score.interval or (math.nan, math.nan)
    return (high - low) / 2


def test_1_constants_beat_published_systems_on_word_f1(dialogues):
    bag, fluent = (constant("f1", text, dialogues) for text in (CONVAI2_CONSTANT, FLUENT))
    assert (round(bag, 2), round(fluent, 2)) == (22.98, 19.29)
    tables = [table for table in every_table() if table.key == "convai2" and "F1" in table.metrics]
    systems = {row: values["F1"] for table in tables for row, values in table.rows.items() if "F1" in values}
    assert bag > max(systems.values())
    assert fluent > systems["TransferTransfo"]


def test_2_the_f1_of_paa_is_another_quantity(authors):
    (f1,) = {table.metrics["F1"].ours for table in every_table() if table.key == "paa" and "F1" in table.metrics}
    assert f1 == "paa_teacher_forced_macro_f1"
    word = Metric.build("f1").measure(authors).value
    assert round(word, 2) == 16.06
    assert word < printed("paa", "PAA", "F1") - 1


def test_2_that_quantity_has_a_name_of_its_own():
    assert Metric.build("paa_teacher_forced_macro_f1").name != Metric.build("f1").name


def test_3_paa_prints_precisions_without_the_brevity_penalty(authors, dialogues):
    values = {name: Metric.build(name).measure(authors).value for name in ("bleu", "bleu_p1", "bleu_p2")}
    assert round(values["bleu_p1"], 2) == printed("paa", "PAA", "BLEU-1")
    assert round(values["bleu_p2"], 2) == printed("paa", "PAA", "BLEU-2")
    assert values["bleu"] < values["bleu_p2"]
    assert constant("bleu_p1", CONVAI2_CONSTANT, dialogues) > values["bleu_p1"]


def test_3_a_short_reply_costs_bleu_and_no_precision():
    short, whole = ["one two three four"], ["one two three four five six seven"]
    values = {name: Metric.build(name).score(short, [whole]).value for name in ("bleu", "bleu_p1", "bleu_p2")}
    assert values["bleu_p1"] == values["bleu_p2"] == pytest.approx(100)
    assert values["bleu"] == pytest.approx(100 * math.exp(1 - 7 / 4))


def test_4_a_perfect_reply_scores_1_33_as_nltk_35_had_it(reference):
    same = "one two three four five six"
    assert Metric.build("bleu_nltk35_method7_1").score([same], [[same]]).value == pytest.approx(4 / 3)
    folder = reference / "dialogved" / "metrics"
    old, new = (json.loads((folder / f"syn.scores.nltk{version}.json").read_text()) for version in ("3.5", "3.9.1"))
    said, golds = ((folder / f"syn.{end}").read_text().replace(" ##", "").splitlines() for end in ("hyp", "tgt"))
    ours = Metric.build("bleu_nltk35_method7_1").score(said, [[gold] for gold in golds]).value
    assert ours == pytest.approx(old["bleu1"])
    assert abs(new["bleu1"] - old["bleu1"]) > 0.001, "later versions compute something else"


def test_5_pairs_are_divided_by_pairs():
    assert Metric.build("dist2").score(["x y x y z"], [[""]]).value == pytest.approx(100 * 3 / 4)


def test_5_the_distinct_of_paa_divides_pairs_by_words_under_a_name_of_its_own():
    assert Metric.build("paa_dist2").score(["x y x y z"], [[""]]).value == pytest.approx(100 * 3 / 5)


def test_6_the_gold_reply_is_the_last_candidate(convai2):
    turns = [line.rstrip("\n").split("\t") for line in convai2.read_text().split("\n") if line.count("\t") == 3]
    assert len(turns) == TURNS
    candidates = [turn[3].split("|") for turn in turns]
    assert {len(each) for each in candidates} == {20}
    assert all(each[-1] == turn[1] for each, turn in zip(candidates, turns, strict=True))


def test_6_a_scorer_that_knows_nothing_gets_chance():
    hits = Metric.build("hits1")
    from personae.metrics import Ranking

    replies = [Reply("", ("a",), str(number), ranking=Ranking((0.0,), (0.0,) * 19)) for number in range(7)]
    assert hits.measure(replies).value == pytest.approx(5.0)


def test_7_words_in_common_are_a_floor_of_hits():
    dialogue = Dialogue(
        *({"persona": ("i grow roses .",), "context": ("what do you do ?",)}, "i grow roses all day ."),
        distractors=("no , never .", "he is my brother ."),
    )
    (found,) = Ranker.build("tfidf").rank([dialogue])
    assert max(found.right) > max(found.wrong)
    assert printed("convai2", "KV Profile Memory", "Hits@1") == 54.8, "51.6 for no training at all is near"


def test_8_perplexity_is_of_sums_and_counts_the_end():
    replies = [Reply("", ("a b",), "1", nats=6.0, tokens=3), Reply("", ("c",), "2", nats=1.0, tokens=2)]
    score = Metric.build("perplexity_token").measure(replies)
    assert score.value == pytest.approx(math.exp(7 / 5))
    assert score.value != pytest.approx((math.exp(2) + math.exp(1 / 2)) / 2, rel=0.05)
    assert "|units:5|end:scored|avg:micro|" in score.signature
    assert Metric.build("nats_per_word").measure(replies).value == pytest.approx(7 / 3)
    assert Metric.build("nats_per_byte").measure(replies).value == pytest.approx(7 / 4)


def test_8_the_papers_perplexity_is_not_taken_for_ours():
    meanings = {table.key: table.metrics["PPL"] for table in every_table() if "PPL" in table.metrics}
    assert meanings["paa"].ours is None
    assert "17.05" in (meanings["paa"].differs or "")


def test_9_gaps_between_papers_are_inside_the_noise(authors):
    """Between 0.3 and 0.4 points on all turns, about 2 on 200."""
    f1 = Metric.build("f1")
    assert half(f1.measure(authors)) == pytest.approx(0.35, abs=0.07)
    assert half(f1.measure(authors[::39][:200])) == pytest.approx(2.1, abs=0.5)
    assert half(f1.measure(authors)) > 17.36 - 17.22


def test_9_turns_of_one_dialogue_are_not_independent():
    apart = [Reply("i like dogs", ("i like cats" if at % 3 else "no",), str(at)) for at in range(60)]
    together = [replace(reply, conversation=str(at % 3)) for at, reply in enumerate(apart)]
    assert half(Metric.build("f1").measure(together)) > 2 * half(Metric.build("f1").measure(apart))


def test_10_a_model_never_sees_the_candidates(tiny_run):
    from personae.data.load import load
    from personae.evaluation.speaker import Speaker
    from personae.runs import Run

    run = Run(tiny_run)
    speaker = Speaker(run, run.recipe().decoding)
    bare = [replace(each, distractors=()) for each in load([tiny_run / "data" / "valid.jsonl"]).dialogues[:3]]
    offered = [replace(each, distractors=("i am a spy .", each.response)) for each in bare]
    assert speaker.pack(offered) == speaker.pack(bare)


def test_11_no_meteor_of_cao_is_comparable():
    (table,) = [table for table in every_table() if table.key == "cao"]
    assert table.metrics["METEOR"].ours is None
    assert "hard-coded to 0.0" in (table.metrics["METEOR"].differs or "")
