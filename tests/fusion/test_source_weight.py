"""sw and dw of Cao et al. (2020), as in the paper and as published."""

import pytest
import torch

from personae.errors import UserError
from personae.fusion import Fusion
from tests.fusion.answers import B, D, T, randoms, views_of

WIDTH = {"source-weight": 1, "dimension-weight": D}
PUBLISHED = {f"{name}-published": width for name, width in WIDTH.items()}
BOTH = {**WIDTH, **PUBLISHED}
each = pytest.mark.parametrize(("name", "width"), BOTH.items())
each_count = pytest.mark.parametrize("count", [2, 3, 4])


def contributions(fusion, outputs):
    return fusion(torch.randn(B, T, D), views_of(outputs))


def weighted(name, count):
    """A fusion with weights from 0.5 to 2.5, and these."""
    fusion = Fusion.build(name, dim=D, sources=count)
    torch.nn.init.uniform_(fusion.weight, 0.5, 2.5, generator=torch.Generator().manual_seed(1))
    return fusion, fusion.weight.detach().expand(count, D)


@each
@each_count
def test_the_formula(name, width, count):
    outputs, (fusion, weight) = randoms(count), weighted(name, count)
    given = contributions(fusion, outputs)
    for d in range(D):
        divisor = count if name in PUBLISHED else sum(weight[at, d] for at in range(count))
        for at in range(count):
            torch.testing.assert_close(given[at][..., d], weight[at, d] * outputs[at][..., d] / divisor)


@each
@each_count
def test_it_has_a_weight_per_view(name, width, count):
    fusion = Fusion.build(name, dim=D, sources=count)
    assert {key: tuple(one.shape) for key, one in fusion.named_parameters()} == {"weight": (count, width)}


@each
@each_count
def test_it_starts_as_the_mean_or_as_published_an_nth_of_it(name, width, count):
    outputs, fusion = randoms(count), Fusion.build(name, dim=D, sources=count)
    torch.nn.init.normal_(fusion.weight)
    for fresh in (Fusion.build(name, dim=D, sources=count), fusion):
        fresh.initialise()
        mean = sum(outputs) / count
        torch.testing.assert_close(sum(contributions(fresh, outputs)), mean / count if name in PUBLISHED else mean)


@pytest.mark.parametrize("name", WIDTH)
def test_in_the_paper_only_the_ratio_of_weights_counts(name):
    outputs, (fusion, _) = randoms(3), weighted(name, 3)
    before = contributions(fusion, outputs)
    fusion.weight.data *= -3
    for one, other in zip(before, contributions(fusion, outputs), strict=True):
        torch.testing.assert_close(one, other)


@each
def test_a_lone_source_has_nothing_to_weigh(name, width):
    with pytest.raises(UserError, match="at least 2"):
        Fusion.build(name, dim=D, sources=1)


def test_source_weights_are_the_shares() -> None:
    scalar = Fusion.build("source-weight", dim=D, sources=2)
    scalar.weight.data = torch.tensor([[3.0], [1.0]])
    assert scalar.source_weights().tolist() == [0.75, 0.25]
    published = Fusion.build("source-weight-published", dim=D, sources=2)
    published.weight.data = torch.tensor([[3.0], [1.0]])
    assert published.source_weights().tolist() == [1.5, 0.5]
    vector = Fusion.build("dimension-weight", dim=2, sources=2)
    vector.weight.data = torch.tensor([[1.0, 3.0], [1.0, 1.0]])
    assert vector.source_weights().tolist() == [0.625, 0.375]
