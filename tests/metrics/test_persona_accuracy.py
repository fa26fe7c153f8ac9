"""persona_accuracy, context_accuracy and both_accuracy: right words, and no rival ones."""

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.persona_accuracy import is_right


def reply(prediction: str, kind: str = "persona", number: int = 0, answer: tuple[str, ...] = ("red",)) -> Reply:
    tags = {"kind": kind, "others": "blue|green"}
    return Reply(prediction, ("it is red .",), conversation=f"c{number}", answer=answer, tags=tags)


@pytest.mark.parametrize(
    ("prediction", "right"),
    [
        ("my favourite colour is red .", True),
        ("It's Red.", True),
        ("red", True),
        ("i am tired .", False),
        ("it is redder .", False),
        ("red , no , blue .", False),
        ("red like a bluebird .", True),
        ("", False),
    ],
)
def test_a_right_answer_has_the_value_as_a_word_and_no_rival(prediction: str, right: bool) -> None:
    assert is_right(prediction, ["red"], ["blue", "green"]) is right


def test_every_answer_word_is_needed_and_may_be_several_words() -> None:
    assert is_right("no, mine is light blue", ["no", "light blue"])
    assert not is_right("mine is light blue", ["no", "light blue"])
    assert not is_right("no , it is light , not blue", ["no", "light blue"])


@pytest.mark.parametrize("kind", ["persona", "context", "both"])
def test_only_replies_of_the_kind_count(kind: str) -> None:
    replies = [reply("red", kind, 0), reply("blue", kind, 1), reply("red", kind, 2), reply("?", "neither", 3)]
    score = Metric.build(f"{kind}_accuracy").measure(replies)
    assert score.value == pytest.approx(2 / 3)
    assert score.interval is not None
    assert score.interval[0] <= score.value <= score.interval[1]
    assert score.signature.startswith(f"{kind}_accuracy|n:4|conv:4|kind:{kind}|asked:3|")
    assert "bootstrap" in score.signature


def test_a_corpus_without_the_kind_is_the_users_error() -> None:
    with pytest.raises(UserError, match=r"tag kind 'persona'.*none has it"):
        Metric.build("persona_accuracy").measure([reply("red", "context"), Reply("red", ("red",))])


def test_a_reply_without_an_answer_is_the_users_error() -> None:
    with pytest.raises(UserError, match="conversation 'c7' has none"):
        Metric.build("persona_accuracy").measure([reply("red", number=7, answer=())])
