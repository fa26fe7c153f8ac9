"""Our beam searches on Markov models, small enough to be searched whole."""

import math
from collections.abc import Iterator
from itertools import count, product
from typing import Any

import pytest
import torch
from torch import Tensor

from personae.decoding.beam import beam_search
from personae.decoding.beam_published import published_beam_search
from personae.decoding.task import Found, Task

BOTH = (beam_search, published_beam_search)


class Markov:
    """The next token depends on the last one and on the place.

    ``tables`` (B, most, V + 1, V) of log-probabilities, row V before the first token.
    """

    def __init__(self, tables: Tensor, beams: int, keep: int = 1, eos: tuple[int, ...] = (0,)) -> None:
        self.tables, self.words, self.calls = tables, tables.shape[-1], 0
        self.before = torch.empty(len(tables) * beams, 0)
        self.task = Task(self.step, len(tables), beams, tables.shape[1], torch.tensor(eos), pad=-7, keep=keep)

    @classmethod
    def random(cls, batch: int, words: int, seed: int, most: int, eager: float = 0.0, **options: Any) -> "Markov":
        """``eager`` makes the end tokens likelier."""
        generator = torch.Generator().manual_seed(seed)
        drawn = 2 * torch.randn(batch, most, words + 1, words, generator=generator)
        drawn[..., list(options.get("eos", (0,)))] += eager
        return cls(drawn.log_softmax(-1), **options)

    def step(self, ids: Tensor, parents: Tensor) -> Tensor:
        self.calls += 1
        example = torch.arange(len(ids)) // self.task.beams
        assert torch.equal(parents // self.task.beams, example)
        assert not ids.shape[1] or torch.equal(self.before[parents], ids[:, :-1])
        self.before = ids
        last = ids[:, -1] if ids.shape[1] else torch.full_like(example, self.words)
        return self.tables[example, ids.shape[1], last]

    def one(self, row: int) -> "Markov":
        return Markov(self.tables[row : row + 1], self.task.beams, self.task.keep, tuple(self.task.eos.tolist()))

    def likelihood(self, ids: tuple[int, ...]) -> float:
        """Of the first example."""
        pairs = zip((self.words, *ids), ids, strict=False)
        return sum(self.tables[0, place, one, two].item() for place, (one, two) in enumerate(pairs))

    def replies(self) -> Iterator[tuple[int, ...]]:
        """Every reply: ended by its only end token, or ``most`` tokens long."""
        ends = set(self.task.eos.tolist())
        for length in range(1, self.task.most + 1):
            for ids in product(range(self.words), repeat=length):
                whole = ids[-1] in ends or length == self.task.most
                if whole and not ends & set(ids[:-1]):
                    yield ids

    def ranked(self, alpha: float) -> list[tuple[float, tuple[int, ...]]]:
        scored = [(self.likelihood(ids) / ((5 + len(ids)) / 6) ** alpha, ids) for ids in self.replies()]
        return sorted(scored, reverse=True)


def said(found: Found, row: int = 0) -> list[tuple[int, ...]]:
    return [tuple(token for token in ids if token != -7) for ids in found.ids[row].tolist()]


def by_hand(toy: Markov, alpha: float) -> list[tuple[float, tuple[int, ...]]]:
    """Beam search of one example as one would write it on paper, to the very end."""
    task, ends = toy.task, set(toy.task.eos.tolist())
    live, finished = [()], []
    for length in range(1, task.most + 1):
        grown = [(*ids, word) for ids in live for word in range(toy.words)]
        grown.sort(key=toy.likelihood, reverse=True)
        over = [ids for ids in grown[: task.beams] if ids[-1] in ends or length == task.most]
        finished += [(toy.likelihood(ids) / ((5 + length) / 6) ** alpha, ids) for ids in over]
        live = [ids for ids in grown if ids[-1] not in ends][: task.beams]
    return sorted(finished, reverse=True)[: task.keep]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("eos", [(0,), (0, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_search_is_the_search_of_all(alpha: float, eos: tuple[int, ...], seed: int) -> None:
    toy = Markov.random(1, 4, seed, beams=120, most=4, keep=9, eos=eos)
    expected = toy.ranked(alpha)[:9]
    found = beam_search(toy.task, alpha)
    assert said(found) == [ids for _, ids in expected]
    torch.testing.assert_close(found.scores[0], torch.tensor([score for score, _ in expected]))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("eager", [-1.0, 4.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_search_is_the_one_on_paper(alpha: float, eager: float, seed: int) -> None:
    toy = Markov.random(1, 7, seed, beams=3, most=9, eager=eager, keep=3, eos=(0, 4))
    expected = by_hand(toy, alpha)
    found = beam_search(toy.task, alpha)
    assert said(found) == [ids for _, ids in expected]
    torch.testing.assert_close(found.scores[0], torch.tensor([score for score, _ in expected]))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_keeping_fewer_gives_the_first_of_more(alpha: float) -> None:
    for seed in range(10):
        three, one = (Markov.random(4, 6, seed, beams=3, most=8, keep=keep) for keep in (3, 1))
        whole, best = beam_search(three.task, alpha), beam_search(one.task, alpha)
        assert [said(whole, row)[:1] for row in range(4)] == [said(best, row) for row in range(4)]
        assert torch.equal(whole.scores[:, :1], best.scores)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_an_example_is_found_alone_as_in_a_batch(alpha: float) -> None:
    toy = Markov.random(6, 6, 4, beams=3, most=12, keep=2)
    together = beam_search(toy.task, alpha)
    for row in range(6):
        alone = beam_search(toy.one(row).task, alpha)
        assert said(alone) == said(together, row)
        assert torch.equal(alone.scores[0], together.scores[row])


def test_an_example_is_found_alone_where_processors_raise_scores() -> None:
    """Then what would come after the end of one example's search could be better; the others must not bring it in."""
    toy = Markov.random(8, 6, 4, beams=3, most=12, eos=(0, 1))
    toy.tables += 0.8
    together = beam_search(toy.task, 0.6)
    assert [said(beam_search(toy.one(row).task, 0.6)) for row in range(8)] == [said(together, row) for row in range(8)]


def chain(length: int, sure: float, most: int) -> Tensor:
    """Word 1, 2, ... each with probability ``sure``, else the end (0); after word ``length`` surely the end."""
    table = torch.full((length + 3, length + 2), 1e-6)
    for last, word in zip((length + 2, *range(1, length)), count(1), strict=False):
        table[last, word], table[last, 0] = sure, 1 - sure
    table[length, 0] = 1.0
    return table.log().expand(1, most, -1, -1)


def test_the_penalty_lets_a_long_reply_win() -> None:
    toy = Markov(chain(4, 0.6, most=5), beams=3)
    short, long = (0,), (1, 2, 3, 4, 0)
    assert toy.likelihood(short) > toy.likelihood(long)
    winners = [said(beam_search(toy.task, alpha))[0] for alpha in (0.0, 0.6, 2.0)]
    assert winners == [toy.ranked(alpha)[0][1] for alpha in (0.0, 0.6, 2.0)]
    assert winners[0] == short
    assert winners[2] == long


def test_it_stops_when_nothing_better_can_come_and_not_before() -> None:
    calls = {}
    for alpha in (0.0, 2.0):
        toy = Markov(chain(6, 0.4, most=40), beams=3)
        beam_search(toy.task, alpha)
        calls[alpha] = toy.calls
    assert calls[0.0] == 1  # log 0.6 has ended, log 0.4 goes on
    assert 7 < calls[2.0] < 40


def test_what_has_not_ended_competes() -> None:
    endless = Markov(chain(9, 0.999, most=4), beams=2)
    assert said(beam_search(endless.task, 0.6)) == [(1, 2, 3, 4)]
    never = Markov.random(2, 5, 0, beams=3, most=4, keep=3, eos=())
    found = beam_search(never.task, 0.6)
    assert found.ids.shape == (2, 3, 4)
    assert said(found) == [ids for _, ids in by_hand(never, 0.6)]


@pytest.mark.parametrize("search", BOTH)
def test_something_else_may_end_a_reply(search: Any) -> None:
    toy = Markov.random(2, 5, 1, beams=3, most=9, eos=())
    task = toy.task
    stopped = Task(task.step, 2, 3, 9, task.eos, task.pad, halt=lambda ids: torch.full((len(ids),), ids.shape[1] == 3))
    assert search(stopped, 0.6).ids.shape == (2, 1, 3)
    assert toy.calls == 3


def test_no_reply_ends_the_published_search_short_of_its_last_token() -> None:
    never = Markov.random(2, 5, 0, beams=3, most=4, eos=())
    ours, published = (search(never.task, 0.0) for search in BOTH)
    for row in range(2):
        assert said(published, row)[0] == said(ours, row)[0][:-1]


def test_the_published_search_may_say_the_same_thrice() -> None:
    toy = Markov(chain(6, 0.4, most=8), beams=3, keep=3)
    assert said(published_beam_search(toy.task, 0.6)) == [(0,)] * 3
    assert len(set(said(beam_search(toy.task, 0.6)))) == 3


def test_the_penalty_is_that_of_the_paper() -> None:
    toy = Markov(torch.log(torch.tensor([[[[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]]]])), beams=2)
    assert beam_search(toy.task, 0.6).scores.item() == pytest.approx(math.log(0.75))
    assert published_beam_search(toy.task, 0.6).scores.item() == pytest.approx(math.log(0.75))


def test_where_there_are_too_few_replies_the_rest_is_empty() -> None:
    toy = Markov.random(2, 2, 0, beams=3, most=1, keep=3)
    found = beam_search(toy.task, 0.6)
    assert found.lengths.tolist() == [[1, 1, 0]] * 2
    assert found.ids[:, 2].tolist() == [[-7]] * 2
    assert found.scores[:, 2].tolist() == [-torch.inf] * 2
