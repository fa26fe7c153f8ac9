"""Perplexity: sums first, end token scored, three units."""

import math

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply

# 2 words, 12 bytes (the umlaut has two) and 3 tokens with the end; then 1 word, 2 bytes and 2 tokens.
REPLIES = [
    Reply("", ("grüne autos",), conversation="a", nats=6.0, tokens=3),
    Reply("", ("ja",), conversation="b", nats=1.0, tokens=2),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nats_per_token", 7 / 5),
        ("nats_per_word", 7 / 3),
        ("nats_per_byte", 7 / 14),
        ("perplexity_token", math.exp(7 / 5)),
        ("perplexity_word", math.exp(7 / 3)),
    ],
)
def test_nats_are_summed_before_they_are_divided(name: str, expected: float) -> None:
    assert Metric.build(name).measure(REPLIES).value == pytest.approx(expected)


def test_it_is_not_a_mean_of_perplexities() -> None:
    mean = (math.exp(6 / 3) + math.exp(1 / 2)) / 2
    assert Metric.build("perplexity_token").measure(REPLIES).value != pytest.approx(mean, rel=0.05)


def test_words_are_blank_separated_as_read() -> None:
    reply = Reply("", ("i ' m  fine .",), nats=5.0, tokens=7)
    assert Metric.build("nats_per_word").measure([reply]).value == 1.0


def test_only_the_first_reference_is_the_gold_reply() -> None:
    reply = Reply("", ("one two", "one two three four"), nats=4.0, tokens=3)
    assert Metric.build("nats_per_word").measure([reply]).value == 2.0


def test_the_signature_says_that_the_end_token_is_scored() -> None:
    found = Metric.build("perplexity_token").measure(REPLIES).signature.split("|")
    assert found[:7] == [
        "perplexity_token",
        "n:2",
        "conv:2",
        "unit:model-token",
        "units:5",
        "end:scored",
        "avg:micro",
    ]


def test_the_interval_of_two_conversations_spans_both() -> None:
    interval = Metric.build("perplexity_token").measure(REPLIES).interval
    assert interval == pytest.approx((math.exp(1 / 2), math.exp(2)))


@pytest.mark.parametrize("missing", [Reply("", ("hi",)), Reply("", ("hi",), nats=1.0)])
def test_without_a_model_it_says_what_to_do(missing: Reply) -> None:
    with pytest.raises(UserError, match="reply 1 has no nats and tokens: evaluate with a model, or leave"):
        Metric.build("nats_per_byte").measure([REPLIES[0], missing])


@pytest.mark.parametrize("nats", [math.inf, math.nan])
def test_broken_likelihoods_are_refused(nats: float) -> None:
    with pytest.raises(UserError, match="needs finite nats"):
        Metric.build("perplexity_word").measure([Reply("", ("hi",), nats=nats, tokens=2)])


def test_a_corpus_without_words_has_no_word_perplexity() -> None:
    with pytest.raises(UserError, match="no blank-word to divide by"):
        Metric.build("perplexity_word").measure([Reply("", ("",), nats=1.0, tokens=1)])


def test_a_hopeless_model_has_infinite_perplexity_without_a_warning() -> None:
    score = Metric.build("perplexity_token").measure([Reply("", ("hi",), nats=5000.0, tokens=2)])
    assert score.value == math.inf
