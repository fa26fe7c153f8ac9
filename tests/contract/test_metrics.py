"""What every registered metric promises."""

import os
import random
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from personae._version import __version__
from personae.errors import UserError
from personae.metrics import Metric, Ranking, Reply, Score
from personae.metrics.reply import Forced, Weighed, WordNats
from personae.metrics.sample import Sample, chunks

WORDS = ("i", "you", "like", "dogs", "cats", "and", "my", "mother", "sings", "in", "town", "today")
KINDS = ("persona", "context", "both")
# What metrics take beside the replies.
NEEDS = {name: "vectors" for name in Metric.names() if name.startswith("embedding_")}
NEEDS |= {"meteor": "jar", "c_score": "judge"}


# Stands in for Java and METEOR: reply and first reference share the words in both, each a chunk.
JAVA = """#!{python}
import sys

for line in sys.stdin:
    gold, *_, said = (part.split() for part in line.rstrip("\\n").split("|||")[1:])
    shared = len(set(said) & set(gold))
    print(len(said), len(gold), 0, 0, shared, shared, *[0] * 14, shared, shared, shared)
"""


class ByLength:
    """A judge that anything can be asked."""

    fields: ClassVar = {"checker": "by-length"}

    def __call__(self, claims):
        return [len(claim.sentence + claim.reply) % 3 - 1 for claim in claims]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What metrics need beside the replies."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("given")
    vectors, jar, java = (folder / name for name in ("words.txt", "meteor.jar", "java"))
    vectors.write_text("".join(f"{word} {draw.gauss(0, 1)} {draw.gauss(0, 1)} {draw.gauss(0, 1)}\n" for word in WORDS))
    jar.touch()
    java.write_text(JAVA.format(python=sys.executable))
    java.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        yield {"vectors": vectors, "jar": jar, "judge": ByLength()}


def build(name: str, given: dict[str, Any]) -> Metric:
    return Metric.build(name, **({NEEDS[name]: given[NEEDS[name]]} if name in NEEDS else {}))


def reply(number: int, draw: random.Random) -> Reply:
    """A reply with all that any metric may ask for; every fifth prediction is empty, every seventh is gold."""
    gold = " ".join(draw.choices(WORDS, k=6))
    heard = gold.split()[: draw.randint(2, 6)] + draw.choices(WORDS, k=2)
    said = gold if number % 7 == 0 else " ".join(heard)
    return Reply(
        prediction="" if number % 5 == 0 else said,
        references=(gold, " ".join(draw.choices(WORDS, k=5))),
        conversation=f"c{number // 4}",
        sources={"persona": ("i like dogs .", "my mother sings ."), "context": ("who are you ?",)},
        nats=10 + draw.random(),
        tokens=7,
        answer=(gold.split()[0],),
        tags={"kind": KINDS[number % 3], "ability": KINDS[number % 3], "split": "seen"},
        ranking=Ranking((draw.random(),), tuple(draw.random() for _ in range(19))),
        forced=Forced(tuple(draw.choices(range(9), k=5)), (*draw.choices(range(8), k=4), 8)),
        word_nats=WordNats(20 + draw.random(), 0.01, 6, 1, "abc"),
        weighed=Weighed((number % 4,), tuple(draw.choices(range(4), k=5)), tuple(draw.choices(range(9), k=5)), 4),
    )


@pytest.fixture(scope="module")
def replies() -> list[Reply]:
    draw = random.Random(7)
    return [reply(number, draw) for number in range(80)]


@pytest.fixture(scope="module", params=Metric.names())
def scored(request: pytest.FixtureRequest, replies: list[Reply], given: dict[str, Any]) -> tuple[str, Score]:
    return request.param, build(request.param, given).measure(replies)


def test_the_order_of_replies_does_not_matter(
    scored: tuple[str, Score], replies: list[Reply], given: dict[str, Any]
) -> None:
    name, score = scored
    shuffled = random.Random(1).sample(replies, len(replies))
    again = build(name, given).measure(shuffled)
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


def test_replies_with_empty_predictions_are_counted(
    scored: tuple[str, Score], replies: list[Reply], given: dict[str, Any]
) -> None:
    name, score = scored
    spoken = [one for one in replies if one.prediction]
    without = build(name, given).measure(spoken)
    assert f"n:{len(spoken)}" in without.signature.split("|")
    assert len(spoken) < 80
    assert "n:80" in score.signature.split("|")


@pytest.mark.parametrize("name", Metric.names())
def test_an_empty_list_is_the_users_error(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="no replies to score"):
        build(name, given).measure([])


@pytest.mark.parametrize("name", Metric.names())
def test_it_applies_once_it_has_what_it_needs(name: str, replies: list[Reply], given: dict[str, Any]) -> None:
    assert build(name, given).applies(replies)
    assert Metric.build(name).applies(replies) == (name not in NEEDS)


@pytest.mark.parametrize("name", Metric.names())
def test_a_difference_needs_only_what_was_kept(name: str, replies: list[Reply], given: dict[str, Any]) -> None:
    """A metric built with nothing gives the interval of what one with all it needs has measured."""
    metric, sample = build(name, given), Sample()
    tally = metric.tally(sample)
    for chunk in chunks(replies, sample):
        tally.add(chunk)
    kept, score = tally.by_conversation(), tally.score()
    assert kept is not None
    low, high = Metric.build(name).interval(sample.names, score.value, [kept]) or (1, 0)
    assert low <= score.value <= high
    assert Metric.build(name).interval(sample.names, 0.0, [kept], [kept]) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("name", Metric.names())
def test_measuring_does_not_depend_on_the_size_of_chunks(
    name: str, replies: list[Reply], given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(name, given).measure(replies)
    monkeypatch.setattr(chunks, "__defaults__", (7,))
    parts = build(name, given).measure(replies)
    assert parts.value == pytest.approx(whole.value, rel=1e-9)
    assert parts.interval == (whole.interval and pytest.approx(whole.interval, rel=1e-9))
    assert parts.signature == whole.signature


@pytest.mark.parametrize("name", Metric.names())
def test_it_says_in_a_line_what_it_measures(name: str) -> None:
    assert len(Metric.get(name).summary()) > 20
