"""linear of Cao et al. (2020)."""

import pytest
import torch

from personae.fusion import Fusion
from tests.fusion.answers import B, D, T, randoms, views_of


def made(count):
    torch.manual_seed(1)
    return Fusion.build("linear", dim=D, sources=count)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_contributions_sum_to_one_layer_over_the_concatenation(count):
    outputs, fusion = randoms(count), made(count)
    given = fusion(torch.randn(B, T, D), views_of(outputs))
    torch.testing.assert_close(sum(given), fusion.linear(torch.cat(outputs, dim=-1)))


def test_a_contribution_reads_its_own_view_and_a_share_of_the_bias():
    outputs, fusion = randoms(3), made(3)
    given = fusion(torch.randn(B, T, D), views_of(outputs))
    for at in range(3):
        own = fusion.linear.weight[:, at * D : (at + 1) * D]
        torch.testing.assert_close(given[at], outputs[at] @ own.T + fusion.linear.bias / 3)


def test_on_its_own_it_starts_uniform_as_published():
    fusion, limit = made(3), (3 * D) ** -0.5
    for parameter in fusion.parameters():
        assert parameter.abs().max() <= limit
    assert fusion.linear.weight.abs().max() > 0.9 * limit


def test_source_weights_are_the_norms_of_the_blocks() -> None:
    fusion = Fusion.build("linear", dim=2, sources=2)
    fusion.linear.weight.data = torch.tensor([[3.0, 4.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    assert fusion.source_weights().tolist() == [5.0, 1.0]
