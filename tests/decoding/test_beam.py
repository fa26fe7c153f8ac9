"""Our beam searches on Markov models that can be searched whole, and on tiny dialogue models."""

import math
from collections.abc import Iterator
from itertools import count, product
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from personae.decoding import Decoding
from personae.decoding.adapter import CustomSearch
from personae.decoding.beam import beam_search
from personae.decoding.beam_published import published_beam_search
from personae.decoding.task import Found, Task
from personae.errors import UserError
from tests.helpers import BOS, EOS, PAD, Batch, batch_of, only, tiny_model

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


CASES = ({"fusion": "paa"}, {"fusion": "sum", "variant": "share_encoder"})
NEW = 7
PLAIN = {"max_new_tokens": NEW, "do_sample": False, "num_beams": 3, "num_return_sequences": 3}


@pytest.fixture(scope="module", params=CASES, ids=str)
def model(request: pytest.FixtureRequest) -> Any:
    return tiny_model(**request.param)


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of(side="left")


def ours(alpha: float, search: Any = beam_search, **options: Any) -> dict[str, Any]:
    return {**PLAIN, "custom_generate": CustomSearch(search, alpha), **options}


@pytest.mark.parametrize(
    "options", [{}, {"eos_token_id": [EOS, *range(0, 36, 3)]}, {"num_beams": 5}, {"num_return_sequences": 1}]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_penalty_it_is_that_of_transformers(batch: Batch, options: dict[str, Any], seed: int) -> None:
    model = tiny_model(fusion="paa", seed=seed)
    told = {**options, "return_dict_in_generate": True}
    theirs = model.generate(**batch, **{**PLAIN, **told}, length_penalty=0.0, output_scores=True)
    found = model.generate(**batch, **ours(0.0, **told))
    assert torch.equal(found.sequences, theirs.sequences)
    torch.testing.assert_close(found.sequences_scores, theirs.sequences_scores)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_beams_score_what_they_return(model: Any, batch: Batch, alpha: float, use_cache: bool) -> None:
    told = {"return_dict_in_generate": True, "suppress_tokens": [PAD], "use_cache": use_cache}
    found = model.generate(**batch, **ours(alpha, **told))
    start = batch["input_ids"].shape[1]
    assert found.sequences.shape[0] == 9
    assert (found.sequences_scores.view(3, 3).diff(dim=1) <= 0).all()
    for row, (ids, score) in enumerate(zip(found.sequences, found.sequences_scores, strict=True)):
        reply = ids[start:][ids[start:] != PAD]
        assert (reply[:-1] != EOS).all()
        assert reply[-1] == EOS or len(reply) == NEW
        likelihood = logs(model, only(batch, row // 3), reply) / ((5 + len(reply)) / 6) ** alpha
        torch.testing.assert_close(likelihood, score, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def logs(model: Any, one: Batch, reply: Tensor) -> Tensor:
    """log P of a reply, read at once, where no token is padding."""
    whole = torch.cat([one["input_ids"], reply[None]], dim=1)
    logits = model(whole, sources=one["sources"]).logits[0, one["input_ids"].shape[1] - 1 : -1]
    return logits.log_softmax(-1).gather(1, reply[:, None]).sum()


def test_a_left_padded_batch_is_its_single_members(model: Any, batch: Batch) -> None:
    chosen = ours(0.6, num_return_sequences=1)
    start = batch["input_ids"].shape[1]
    together = model.generate(**batch, **chosen)[:, start:]
    for row in range(3):
        one = only(batch, row)
        single = model.generate(**one, **chosen)[0, one["input_ids"].shape[1] :]
        assert torch.equal(together[row, : len(single)], single)
        assert (together[row, len(single) :] == PAD).all()


@pytest.mark.parametrize("search", BOTH)
def test_logits_processors_are_asked(model: Any, batch: Batch, search: Any) -> None:
    class Only(LogitsProcessor):
        def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
            assert torch.equal(input_ids[:, :start], batch["input_ids"].repeat_interleave(3, 0))
            return scores.masked_fill(torch.arange(scores.shape[-1]) != 5 + input_ids.shape[1] - start, -torch.inf)

    start = batch["input_ids"].shape[1]
    chosen = ours(0.6, search, num_return_sequences=1, logits_processor=LogitsProcessorList([Only()]))
    found = model.generate(**batch, **chosen)[:, start:]
    expected = list(range(5, 5 + NEW)) if search is beam_search else [*range(5, 4 + NEW), PAD]
    assert found.tolist() == [expected] * 3


@pytest.mark.parametrize("search", BOTH)
def test_stopping_criteria_are_asked(model: Any, batch: Batch, search: Any) -> None:
    class Enough(StoppingCriteria):
        def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
            assert (input_ids[:, start - 1] == batch["input_ids"][:, -1].repeat_interleave(len(input_ids) // 3)).all()
            return torch.full((len(input_ids),), input_ids.shape[1] >= start + 2)

    start = batch["input_ids"].shape[1]
    chosen = ours(0.6, search, stopping_criteria=StoppingCriteriaList([Enough()]), eos_token_id=None)
    assert model.generate(**batch, **chosen).shape == (9, start + 2)


def test_settings_reach_the_search(model: Any, batch: Batch) -> None:
    told = Decoding(beams=3, copies=2, max_tokens=5, length_penalty=0.6).arguments(BOS, EOS, PAD)
    found = model.generate(**batch, **told)
    expected = model.generate(**batch, **ours(0.6, max_new_tokens=5, num_return_sequences=2))
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"output_scores": True}, "output_scores"),
        ({"early_stopping": True}, "early_stopping"),
        ({"length_penalty": 0.5}, "length_penalty"),
        ({"do_sample": True}, "sample"),
        ({"num_beams": 1, "num_return_sequences": 1}, "set num_beams"),
        ({"streamer": object()}, "streamer"),
    ],
)
def test_what_it_does_not_offer_is_an_error(model: Any, batch: Batch, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        model.generate(**batch, **ours(0.6, **options))


def test_the_penalty_is_that_of_the_paper() -> None:
    toy = Markov(torch.log(torch.tensor([[[[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]]]])), beams=2)
    assert beam_search(toy.task, 0.6).scores.item() == pytest.approx(math.log(0.75))
    assert published_beam_search(toy.task, 0.6).scores.item() == pytest.approx(math.log(0.75))
