"""Floors are deterministic, and the constant search finds the best bag of words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from time import process_time

import pytest

from personae.errors import UserError
from personae.metrics import Metric
from personae.metrics.floors import CONVAI2_CONSTANT, Floor, best_constant
from personae.metrics.floors.base import spread
from personae.metrics.floors.fluent import best_fluent
from personae.text.dialogue import Dialogue

SOURCES = {"persona": ("i ski .", "i have a dog ."), "context": ("hi", "hello", "who are you ?")}
DIALOGUE = Dialogue(SOURCES, "i am me .", references=("me",), conversation="c", answer=("me",), tags={"kind": "own"})
BARE = Dialogue({"persona": (), "context": ()}, "hi")


def make(name: str, training: Sequence[Dialogue] = (DIALOGUE, DIALOGUE, BARE)) -> Floor:
    return Floor.build(name, training=training) if Floor.get(name).needs_training else Floor.build(name)


@pytest.mark.parametrize("name", Floor.names())
def test_every_floor_repeats_itself(name: str) -> None:
    first, second = make(name), make(name)
    dialogues = [DIALOGUE, BARE, DIALOGUE]
    assert first.replies(dialogues) == second.replies(dialogues)
    assert len(first.replies(dialogues)) == 3
    said = {reply.prediction for reply in first.replies(dialogues)}
    assert first.text is None or said == {first.text}


def test_replies_carry_all_that_metrics_need() -> None:
    (reply,) = Floor.build("copy_last").replies([DIALOGUE])
    assert (reply.prediction, reply.references) == ("who are you ?", ("i am me .", "me"))
    assert (reply.conversation, reply.answer, reply.tags) == ("c", ("me",), {"kind": "own"})
    assert (reply.sources, reply.nats, reply.tokens) == (SOURCES, None, None)
    assert Metric.build("f1").measure([reply]).value == 0


def test_copies_of_nothing_are_empty() -> None:
    assert Floor.build("copy_last").reply(BARE, 0) == ""
    assert Floor.build("copy_persona").reply(BARE, 0) == ""


def test_persona_sentences_are_drawn_by_seed_and_index() -> None:
    floor = Floor.build("copy_persona", seed=1)
    drawn = [floor.reply(DIALOGUE, index) for index in range(50)]
    assert set(drawn) == set(SOURCES["persona"])
    assert drawn != [Floor.build("copy_persona", seed=2).reply(DIALOGUE, index) for index in range(50)]


def test_without_a_training_split_the_constant_is_convai2s() -> None:
    assert Floor.build("constant").reply(DIALOGUE, 0) == CONVAI2_CONSTANT
    assert Floor.build("constant:convai2").reply(DIALOGUE, 0) == CONVAI2_CONSTANT


def test_the_search_takes_the_word_that_helps_most_and_stops() -> None:
    # The sum is 1 + 2/3 + 1 for "yes" and 2/3 + 1 + 2/3 for "yes i".
    assert best_constant(["yes .", "yes , i", "Yes!"]) == "yes"
    # 1 + 2/3 + 0 for "yes", but 2/3 + 1/2 + 2/3 for "yes no".
    assert best_constant(["yes", "yes i", "no"]) == "yes no"


def test_the_search_may_take_a_word_twice() -> None:
    assert best_constant(["i do i"] * 2) == "do i i"


def test_the_constant_is_searched_on_the_sample_only() -> None:
    training = [Dialogue({}, "yes")] * 3 + [Dialogue({}, "no")] * 9
    assert Floor.build("constant", training=training, sample=4).reply(DIALOGUE, 0) == "yes"


@pytest.mark.parametrize("name", [name for name in Floor.names() if Floor.get(name).needs_training])
def test_a_training_split_without_words_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="training replies: give another split"):
        make(name, [])


def test_the_fluent_constant_is_a_chain_of_what_people_say() -> None:
    replies = ["i like to ski .", "i like to sing .", "we want to sing now .", "yes , we want to ."]
    text = best_fluent(replies)
    said = {row for each in replies for row in pairwise(["^", *each.split(), "$"])}
    assert set(pairwise(["^", *text.split(), "$"])) <= said
    # "i like to sing ." shares 4, 3, 2 and 1 words of 4, 4, 5 and 4: no chain does better.
    assert text == "i like to sing ."


def test_the_fluent_constant_keeps_to_what_is_common() -> None:
    """Of 4,000 replies two or more must say three tokens in a row."""
    rare = ["i am the best of them all ."]
    common = ["yes ."] * 2000 + ["no ."] * 1999
    assert best_fluent(rare + common) in {"yes .", "no ."}


def test_the_gold_reply_is_a_row_without_references() -> None:
    (reply,) = Floor.build("human").replies([DIALOGUE])
    assert (reply.prediction, reply.references, reply.answer) == ("i am me .", (), ())
    applying = {name for name in Metric.names() if Metric.build(name).applies([reply])}
    assert {"dist1", "dist2"} <= applying
    assert not applying & {"f1", "bleu", "persona_accuracy", "nats_per_word", "hits1"}


def test_retrieval_answers_as_in_the_nearest_situation() -> None:
    cats = Dialogue({"persona": ("i love cats .",), "context": ("do dogs bark ?", "any pets ?")}, "three cats")
    boats = Dialogue({"persona": ("i sail .",), "context": ("any pets ?", "what is your job ?")}, "i sail boats")
    third = replace(boats, response="never seen")
    floor = Floor.build("retrieval", training=[cats, boats, third])
    assert floor.reply(Dialogue({"context": ("your job , please ?",)}, ""), 0) == "i sail boats"
    assert floor.reply(Dialogue({"persona": ("cats purr .",), "context": ("what ?",)}, ""), 0) == "three cats"
    assert floor.reply(Dialogue({"context": ("zzz",)}, ""), 0) == "three cats"
    assert floor.facts() == {"pool": 3}


def test_items_are_taken_evenly() -> None:
    assert spread(range(10), 4) == [0, 2, 5, 7]
    assert spread([1, 2], 4) == [1, 2]
    assert spread([], 4) == []


@pytest.mark.timeout(60)
def test_the_fluent_constant_of_many_replies_is_found_in_seconds() -> None:
    words = [f"w{number}" for number in range(300)]
    replies = [" ".join(words[(at * step) % 300] for step in range(1, 12)) for at in range(65_000)]
    start = process_time()
    best_fluent(replies)
    assert process_time() - start < 20
