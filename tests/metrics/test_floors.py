"""Floors are deterministic, and the constant search finds the best bag of words."""

import pytest

from personae.errors import UserError
from personae.metrics import Metric
from personae.metrics.floors import CONVAI2_CONSTANT, Floor, best_constant
from personae.text.dialogue import Dialogue

SOURCES = {"persona": ("i ski .", "i have a dog ."), "context": ("hi", "hello", "who are you ?")}
DIALOGUE = Dialogue(SOURCES, "i am me .", references=("me",), conversation="c", answer=("me",), tags={"kind": "own"})
BARE = Dialogue({"persona": (), "context": ()}, "hi")


@pytest.mark.parametrize("name", Floor.names())
def test_every_floor_needs_no_options_and_repeats_itself(name: str) -> None:
    first, second = Floor.build(name), Floor.build(name)
    dialogues = [DIALOGUE, BARE, DIALOGUE]
    assert first.replies(dialogues) == second.replies(dialogues)
    assert len(first.replies(dialogues)) == 3


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


def test_a_training_split_without_words_is_refused() -> None:
    with pytest.raises(UserError, match="no words in the training replies"):
        Floor.build("constant", training=[])
