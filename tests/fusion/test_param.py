"""PARAM: one linear layer over the concatenated answers, told apart by source."""

import copy

import pytest
import torch
from torch import Tensor, nn

from personae.fusion import Fusion
from tests.fusion.answers import B, D, T, randoms, views_of


class Uncut(nn.Module):
    """A linear layer as packing leaves it: it has a bias and can be called, its weight cannot be read."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._linear = [linear]
        self.bias = linear.bias

    def forward(self, states: Tensor) -> Tensor:
        found: Tensor = self._linear[0](states)
        return found


def made(count: int) -> Fusion:
    torch.manual_seed(1)
    return Fusion.build("param", dim=D, sources=count)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_contributions_sum_to_the_layer(count: int) -> None:
    outputs, fusion = randoms(count), made(count)
    found = fusion(torch.randn(B, T, D), views_of(outputs))
    weight, bias = fusion.linear.weight, fusion.linear.bias
    torch.testing.assert_close(sum(found), torch.cat(outputs, -1) @ weight.T + bias)
    for at, part in enumerate(found):
        torch.testing.assert_close(part, outputs[at] @ weight[:, at * D : (at + 1) * D].T + bias / count)


def test_a_published_weight_loads() -> None:
    assert {key: tuple(one.shape) for key, one in made(2).state_dict().items()} == {
        "linear.weight": (D, 2 * D),
        "linear.bias": (D,),
    }


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_packed_layer_gives_the_same_parts(count: int) -> None:
    outputs, fusion = randoms(count), made(count)
    packed = copy.deepcopy(fusion)
    packed.linear = Uncut(packed.linear)
    hidden = torch.randn(B, T, D)
    for ours, theirs in zip(packed(hidden, views_of(outputs)), fusion(hidden, views_of(outputs)), strict=True):
        torch.testing.assert_close(ours, theirs)
