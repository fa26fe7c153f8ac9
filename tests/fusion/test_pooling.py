"""mean, max and min of Cao et al. (2020)."""

import pytest
import torch

from personae.fusion import Fusion
from tests.fusion.answers import B, D, T, randoms, views_of

NAMES = ("mean", "max", "min")
each_count = pytest.mark.parametrize("count", [1, 2, 3, 4])


def contributions(name, outputs):
    return Fusion.build(name, dim=D, sources=len(outputs))(torch.randn(B, T, D), views_of(outputs))


@each_count
def test_mean(count):
    outputs = randoms(count)
    for given, output in zip(contributions("mean", outputs), outputs, strict=True):
        torch.testing.assert_close(given, output / count)


@each_count
@pytest.mark.parametrize(("name", "extreme"), [("max", max), ("min", min)])
def test_max_and_min_credit_the_winner(name, extreme, count):
    outputs = randoms(count)
    given = contributions(name, outputs)
    for place in ((b, t, d) for b in range(B) for t in range(T) for d in range(D)):
        entries = [output[place] for output in outputs]
        best = extreme(range(count), key=lambda at, entries=entries: entries[at])
        assert [part[place] for part in given] == [entries[at] if at == best else 0 for at in range(count)]


@pytest.mark.parametrize("name", ["max", "min"])
def test_contributions_sum_to_the_extreme_exactly(name):
    outputs = randoms(3)
    expected = getattr(torch.stack(outputs), f"a{name}")(0)
    assert torch.equal(sum(contributions(name, outputs)), expected)


@pytest.mark.parametrize("name", ["max", "min"])
def test_of_equal_answers_the_first_counts(name):
    output = randoms(1)[0]
    first, second, third = contributions(name, [output, output, output])
    assert torch.equal(first, output)
    assert not second.any()
    assert not third.any()


@pytest.mark.parametrize("name", ["max", "min"])
def test_gradient_reaches_the_winner_only(name):
    outputs = [output.requires_grad_() for output in randoms(3)]
    given = contributions(name, outputs)
    sum(part.sum() for part in given).backward()
    for output, part in zip(outputs, given, strict=True):
        assert torch.equal(output.grad, (part != 0).float())


@pytest.mark.parametrize("name", NAMES)
def test_pooling_has_no_parameters_and_reads_outputs_only(name):
    assert list(Fusion.build(name, dim=D, sources=2).parameters()) == []
    assert Fusion.get(name).outputs_only
