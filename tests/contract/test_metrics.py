"""What every registered metric promises."""

import random
from typing import ClassVar

import pytest

from personae._version import __version__
from personae.errors import UserError
from personae.metrics import Metric, Reply, Score

WORDS = ("i", "you", "like", "dogs", "cats", "and", "my", "mother", "sings", "in", "town", "today")
KINDS = ("persona", "context", "both")


class ByLength:
    """A judge that anything can be asked."""

    fields: ClassVar = {"checker": "by-length"}

    def __call__(self, claims):
        return [len(claim.sentence + claim.reply) % 3 - 1 for claim in claims]


# What a metric cannot be built without, by its name.
OPTIONS = {"c_score": {"judge": ByLength()}}


def build(name: str) -> Metric:
    return Metric.build(name, **OPTIONS.get(name, {}))


def reply(number: int, draw: random.Random) -> Reply:
    """A reply with all that any metric may ask for; every fifth prediction is empty."""
    gold = " ".join(draw.choices(WORDS, k=6))
    heard = gold.split()[: draw.randint(2, 6)] + draw.choices(WORDS, k=2)
    return Reply(
        prediction="" if number % 5 == 0 else " ".join(heard),
        references=(gold, " ".join(draw.choices(WORDS, k=5))),
        conversation=f"c{number // 4}",
        sources={"persona": ("i like dogs .", "my mother sings ."), "context": ("who are you ?",)},
        nats=10 + draw.random(),
        tokens=7,
        answer=(gold.split()[0],),
        tags={"kind": KINDS[number % 3], "ability": KINDS[number % 3], "split": "seen"},
    )


@pytest.fixture(scope="module")
def replies() -> list[Reply]:
    draw = random.Random(7)
    return [reply(number, draw) for number in range(80)]


@pytest.fixture(scope="module", params=Metric.names())
def scored(request: pytest.FixtureRequest, replies: list[Reply]) -> tuple[str, Score]:
    return request.param, build(request.param).measure(replies)


def test_the_order_of_replies_does_not_matter(scored: tuple[str, Score], replies: list[Reply]) -> None:
    name, score = scored
    shuffled = random.Random(1).sample(replies, len(replies))
    again = build(name).measure(shuffled)
    assert again.value == pytest.approx(score.value, rel=1e-9)
    assert again.signature == score.signature
    assert again.interval == (score.interval and pytest.approx(score.interval, rel=1e-9))


def test_the_interval_holds_the_value(scored: tuple[str, Score]) -> None:
    _, score = scored
    if score.interval is not None:
        low, high = score.interval
        assert low <= score.value <= high
        assert low < high


def test_the_signature_names_metric_sample_and_version(scored: tuple[str, Score]) -> None:
    name, score = scored
    fields = score.signature.split("|")
    assert fields[0] == name
    assert "n:80" in fields
    assert fields[-1] == f"v:{__version__}"


def test_replies_with_empty_predictions_are_counted(scored: tuple[str, Score], replies: list[Reply]) -> None:
    name, score = scored
    spoken = [one for one in replies if one.prediction]
    without = build(name).measure(spoken)
    assert f"n:{len(spoken)}" in without.signature.split("|")
    assert len(spoken) < 80
    assert "n:80" in score.signature.split("|")


@pytest.mark.parametrize("name", Metric.names())
def test_an_empty_list_is_the_users_error(name: str) -> None:
    with pytest.raises(UserError):
        build(name).measure([])


@pytest.mark.parametrize("name", Metric.names())
def test_it_says_in_a_line_what_it_measures(name: str) -> None:
    assert len(Metric.get(name).summary()) > 20
