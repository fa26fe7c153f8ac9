"""The competition's perplexity, from nats by word."""

import math

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.reply import WordNats

NAME = "convai2_perplexity"


def reply(nats: float, words: int, slack: float = 0.0, skipped: int = 0, dictionary: str = "abc") -> Reply:
    return Reply("", ("x",), word_nats=WordNats(nats, slack, words, skipped, dictionary))


def test_nats_and_words_are_summed_before_they_are_divided() -> None:
    score = Metric.build(NAME).measure([reply(6.0, 1, 0.03), reply(3.0, 2, 0.03, skipped=4)])
    assert score.value == pytest.approx(math.exp(3))
    assert "|words:3|outside:4|end:not-scored|avg:micro|over_at_most:0.020-nats|dictionary:abc|" in score.signature


def test_one_dictionary_serves_all() -> None:
    with pytest.raises(UserError, match="different dictionaries"):
        Metric.build(NAME).measure([reply(1, 1), reply(1, 1, dictionary="xyz")])


def test_no_word_to_score() -> None:
    with pytest.raises(UserError, match="no word to score"):
        Metric.build(NAME).measure([reply(0.0, 0, skipped=3)])


def test_without_a_model_it_says_what_to_run() -> None:
    with pytest.raises(UserError, match="--dictionary FILE"):
        Metric.build(NAME).measure([Reply("a", ("b",))])
