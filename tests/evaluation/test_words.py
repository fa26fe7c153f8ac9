"""The mass of a dictionary under a model of word pieces, against a sum over all of its words."""

import math
import random
from collections.abc import Mapping, Sequence

import pytest
import torch
from torch import Tensor

from personae.errors import UserError
from personae.evaluation.words import Pieces, Trie

V = 6


class Made:
    """Probabilities that depend on all pieces so far; counts what it is asked."""

    def __init__(self, sharpness: float = 2.0) -> None:
        self.sharpness, self.asked = sharpness, 0

    def after(self, pieces: Pieces) -> Tensor:
        generator = torch.Generator().manual_seed(hash(pieces) % (1 << 30))
        return (self.sharpness * torch.randn(V, generator=generator, dtype=torch.double)).softmax(-1)

    def look(self, beginnings: Sequence[Pieces]) -> Tensor:
        self.asked += len(beginnings)
        return torch.stack([self.after(each) for each in beginnings])

    def mass(self, words: Mapping[str, Pieces]) -> float:
        """The sum over words of the product of their pieces."""
        return sum(
            math.prod(float(self.after(pieces[:at])[piece]) for at, piece in enumerate(pieces))
            for pieces in words.values()
        )


def drawn(seed: int, count: int = 40) -> dict[str, Pieces]:
    draw = random.Random(seed)
    words = {tuple(draw.choices(range(V), k=draw.randint(1, 4))) for _ in range(count)}
    return {str(pieces): pieces for pieces in words}


@pytest.mark.parametrize("seed", range(5))
def test_without_tolerance_it_is_the_sum_over_all_words(seed: int) -> None:
    words, model = drawn(seed), Made()
    low, high = Trie(words).mass(model.after(()), model.look, tolerance=0.0)
    assert low == high == pytest.approx(model.mass(words))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tolerance", [0.001, 0.02, 0.3])
def test_bounds_hold_the_sum_and_are_as_near_as_asked(seed: int, tolerance: float) -> None:
    words, model = drawn(seed, 200), Made(4.0)
    low, high = Trie(words).mass(model.after(()), model.look, tolerance)
    assert low - 1e-12 <= model.mass(words) <= high + 1e-12
    assert math.log(high / low) <= tolerance + 1e-12


def test_a_tolerance_saves_looks() -> None:
    words, exact, near = drawn(0, 400), Made(4.0), Made(4.0)
    Trie(words).mass(exact.after(()), exact.look, 0.0)
    Trie(words).mass(near.after(()), near.look, 0.05)
    assert near.asked < exact.asked / 2


def test_words_of_one_piece_need_no_further_look() -> None:
    model = Made()
    low, high = Trie({"a": (0,), "b": (3,)}).mass(model.after(()), model.look, 0.0)
    assert low == high == pytest.approx(float(model.after(())[[0, 3]].sum()))
    assert model.asked == 0


def test_the_bound_counts_words_inside_words() -> None:
    """A word, and one that goes on from it, and one that goes on from that: each may weigh all of the mass."""
    words = {"a": (0,), "ab": (0, 1), "abc": (0, 1, 2)}
    first = torch.tensor([1.0, 0, 0, 0, 0, 0])
    low, high = Trie(words).mass(first, lambda _: pytest.fail("no look is needed"), tolerance=math.log(3))
    assert (low, high) == (1.0, pytest.approx(3.0))


def test_words_that_cannot_be_told_apart() -> None:
    with pytest.raises(UserError, match="cannot tell 'a' from 'b'"):
        Trie({"a": (1, 2), "b": (1, 2)})
    with pytest.raises(UserError, match="has nothing for 'a'"):
        Trie({"a": ()})
