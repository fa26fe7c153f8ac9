"""c_score: the sum over persona sentences, from a judge that is given."""

from typing import ClassVar

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.c_score import Claim

PERSONA = ("i have a dog .", "i bake .", " ")


class Recorded:
    """A judge that knows four claims by heart."""

    fields: ClassVar = {"checker": "abc", "held_out": "some=0.900"}
    signs: ClassVar = {("i have a dog .", "a dog"): 1, ("i bake .", "a dog"): 1, ("i have a dog .", "a cat"): -1}

    def __init__(self) -> None:
        self.heard: list[list[Claim]] = []

    def __call__(self, claims):
        self.heard.append(list(claims))
        return [self.signs.get((claim.sentence, claim.reply), 0) for claim in claims]


def reply(prediction: str, number: int = 0, persona: tuple[str, ...] = PERSONA) -> Reply:
    return Reply(prediction, (), f"c{number}", {"persona": persona, "context": ("hi", "any pets ?")})


def test_sums_over_sentences_and_means_over_replies():
    judge = Recorded()
    replies = [reply("a dog"), reply("a cat", 1), reply("nothing", 2), reply("", 3)]
    score = Metric.build("c_score", judge=judge).measure(replies)
    assert score.value == (2 - 1 + 0 + 0) / 4
    assert score.interval[0] <= score.value <= score.interval[1]
    assert score.signature.startswith("c_score|n:4|conv:4|checker:abc|held_out:some=0.900|")
    assert len(judge.heard) == 1


def test_the_judge_gets_sentence_question_and_reply_and_no_blank():
    judge = Recorded()
    Metric.build("c_score", judge=judge).measure([reply("a dog"), reply(" ")])
    assert judge.heard == [[Claim("i have a dog .", "any pets ?", "a dog"), Claim("i bake .", "any pets ?", "a dog")]]


def test_without_a_judge_it_never_applies_and_says_what_to_give():
    metric = Metric.build("c_score")
    assert not metric.applies([reply("a dog")])
    with pytest.raises(UserError, match=r"--checker DIR.*personae checker train"):
        metric.measure([reply("a dog")])


def test_replies_without_a_persona_are_the_users_error():
    with pytest.raises(UserError, match="'c0' has none"):
        Metric.build("c_score", judge=Recorded()).measure([reply("a dog", persona=())])


def test_an_unknown_option_is_named():
    with pytest.raises(UserError, match="has no option 'checker'"):
        Metric.build("c_score", checker="x")
