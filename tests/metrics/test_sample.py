"""Replies heard chunk by chunk: the same score, and bounded memory."""

import random
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from personae.metrics import Metric, Reply, measure_all, sample
from personae.metrics.bootstrap import group_sums
from personae.metrics.sample import Chunk, Sample, Sums, chunks
from personae.metrics.types import SHARED, Types

WORDS = ("i", "you", "like", "dogs", "cats", "and", "my", "mother")


def said(number: int, conversations: int) -> Iterator[Reply]:
    draw = random.Random(5)
    for _ in range(number):
        gold = " ".join(draw.choices(WORDS, k=5))
        yield Reply(" ".join(draw.choices(WORDS, k=4)), (gold,), f"talk {draw.randrange(conversations)}")


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("name", ["f1", "dist1", "dist2", "bleu"])
def test_chunks_of_any_size_give_the_same_score(monkeypatch: pytest.MonkeyPatch, name: str, size: int) -> None:
    whole = Metric.build(name).measure(said(100, 9))
    monkeypatch.setattr("personae.metrics.base.chunks", lambda replies, heard: chunks(replies, heard, size))
    parts = Metric.build(name).measure(said(100, 9))
    assert parts.value == pytest.approx(whole.value, rel=1e-12)
    assert parts.interval == pytest.approx(whole.interval, rel=1e-12)
    assert parts.signature == whole.signature


def test_many_conversations_are_drawn_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {name: Metric.build(name) for name in ("f1", "dist2")}
    apart = measure_all(metrics, said(3000, 600))
    monkeypatch.setattr(sample, "LIMIT", 256)
    monkeypatch.setattr("personae.metrics.signature.LIMIT", 256)
    monkeypatch.setattr("personae.metrics.base.chunks", lambda replies, heard: chunks(replies, heard, 50))
    folded = measure_all(metrics, said(3000, 600))
    for name, score in folded.items():
        assert score.value == pytest.approx(apart[name].value, rel=1e-12)
        conversations = apart[name].signature.split("|")[2]
        assert score.signature.split("|")[2] == conversations
        assert "blocks:256" in score.signature
        assert "blocks" not in apart[name].signature
    wide, narrow = (np.diff(scores["f1"].interval or (0, 0))[0] for scores in (folded, apart))
    assert wide == pytest.approx(narrow, rel=0.2)


def test_sums_that_were_folded_are_those_of_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "LIMIT", 16)
    replies = list(said(400, 60))
    heard, statistics = Sample(), np.arange(400.0)[:, None]
    sums, at = Sums(heard, 1), 0
    for chunk in chunks(replies, heard, 25):
        sums.add(chunk, statistics[at : at + 25])
        at += 25
    expected = group_sums(statistics, [f"{sample.block(reply.conversation):02}" for reply in replies])
    found = sums.values()
    assert found[found[:, 0] > 0].tolist() == expected.tolist()


def test_conversations_are_counted_once_however_they_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "LIMIT", 8)
    for at_least in (0, 5, 1000):
        monkeypatch.setattr(sample, "AT_LEAST", at_least)
        heard = Sample()
        names = [f"talk {number % 37}" for number in range(200)]
        for _ in chunks((Reply("", (), name) for name in names), heard, 7):
            pass
        assert (heard.conversations, heard.conversations, heard.replies) == (37, 37, 200)


def test_types_know_their_only_holder() -> None:
    heard = Sample()
    heard.hear([Reply("", (), name) for name in "ba"])
    types = Types(heard)
    types.add(np.array([5, 6, 5, 7]), np.array([0, 0, 0, 1]))
    types.add(np.array([7, 8]), np.array([0, 1]))
    assert len(types) == 4
    assert types.own().tolist() == [1, 2], "in the order of the names: a has 8, b has 5 and 6, both have 7"
    assert SHARED < 0


def test_what_a_chunk_is_asked_twice_is_found_once() -> None:
    chunk, asked = Sample().hear([Reply("a b", ("c",), "x")]), []

    def count(chunk: Chunk) -> int:
        asked.append(chunk)
        return len(chunk.replies)

    assert [chunk.once(count), chunk.once(count)] == [1, 1]
    assert asked == [chunk]


def test_memory_is_flat() -> None:
    """Ten times the replies in one conversation each cost less than twice the memory."""

    def peak(number: int) -> int:
        tracemalloc.start()
        measure_all({name: Metric.build(name) for name in ("f1", "dist2")}, said(number, number))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(60_000) < 2 * peak(6_000) + (8 << 20)
