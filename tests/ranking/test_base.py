"""What every ranker promises: the gold reply is nowhere to be seen, and its place decides nothing."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.ranking import Question, Ranker
from personae.ranking.base import shuffled
from personae.text.dialogue import Dialogue

DIALOGUE = Dialogue(
    {"persona": ("i ski .",), "context": ("hi", "who are you ?")},
    "i am me .",
    references=("it is me",),
    distractors=("no", "yes", "I am the me!", "it is me ."),
    roles={"context": ("partner", "partner")},
    conversation="c",
    evidence={"persona": (0,)},
    answer=("me",),
    tags={"kind": "persona"},
)


class Length(Ranker):
    """Longer is better; remembers what it was asked."""

    def scores(self, questions: Sequence[Question]) -> list[Sequence[float]]:
        self.asked = list(questions)
        return [[float(len(text)) for text in one.candidates] for one in questions]


def test_a_question_holds_nothing_that_tells_the_gold_reply() -> None:
    ranker = Length()
    ranker.rank([DIALOGUE])
    (question,) = ranker.asked
    assert sorted(question.candidates) == sorted(["i am me .", *DIALOGUE.distractors])
    told = question.dialogue
    assert (told.response, told.references, told.distractors) == ("", (), ())
    assert (told.evidence, told.answer, told.tags) == ({}, (), {})
    assert (told.sources, told.roles) == (DIALOGUE.sources, DIALOGUE.roles)


def test_scores_come_back_in_the_order_of_the_data_with_gold_twins_among_the_right() -> None:
    (ranking,) = Length().rank([DIALOGUE])
    assert ranking.right == (9.0, 12.0, 10.0)  # the reply, its twin after normalisation, another gold reply
    assert ranking.wrong == (2.0, 3.0)


def test_the_order_shown_depends_on_texts_and_seed_alone() -> None:
    ranker = Length()
    other = replace(DIALOGUE, response="no", distractors=("it is me .", "I am the me!", "i am me .", "yes"))
    ranker.rank([DIALOGUE, other], seed=3)
    one, two = ranker.asked
    assert one.candidates == two.candidates
    orders = {tuple(shuffled(DIALOGUE.distractors, seed)) for seed in range(40)}
    assert len(orders) > 10


def test_the_gold_reply_stands_everywhere_equally_often() -> None:
    texts = [tuple(f"{number} {at}" for at in range(4)) for number in range(2000)]
    places = [shuffled(each, 0).index(0) for each in texts]
    assert all(abs(places.count(place) - 500) < 80 for place in range(4))


def test_dialogues_without_candidates_are_refused() -> None:
    bare = replace(DIALOGUE, distractors=())
    with pytest.raises(UserError, match="1 of 2 examples have no candidates to rank, the first in c"):
        Length().rank([DIALOGUE, bare])


def test_chance_gets_five_per_cent_of_twenty() -> None:
    dialogue = replace(DIALOGUE, references=(), distractors=tuple(map(str, range(19))))
    rankings = Ranker.build("chance").rank([dialogue] * 3)
    score = Metric.build("hits1").measure([Reply("", (), ranking=each) for each in rankings])
    assert score.value == 5.0
