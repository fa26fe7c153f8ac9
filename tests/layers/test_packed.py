"""Packed weights give what bf16 weights give."""

import copy

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from personae.layers.packed import PackedLinear, can_pack, pack_linears
from tests.helpers import tiny_model

needs_units = pytest.mark.skipif(not can_pack(), reason="this CPU or torch has no packed bf16 weights")


@needs_units
@pytest.mark.parametrize("bias", [True, False])
def test_a_packed_linear_is_the_linear_in_bf16(bias):
    linear = nn.Linear(24, 40, bias=bias).to(torch.bfloat16)
    states = torch.randn(3, 5, 24).to(torch.bfloat16)
    packed = PackedLinear(linear.weight, linear.bias)
    torch.testing.assert_close(packed(states), linear(states))


@needs_units
def test_every_linear_and_conv1d_is_replaced():
    module = nn.Sequential(nn.Linear(8, 8), nn.Sequential(Conv1D(6, 8), nn.LayerNorm(6))).to(torch.bfloat16)
    states = torch.randn(2, 3, 8).to(torch.bfloat16)
    expected = module(states)
    pack_linears(module)
    assert isinstance(module[0], PackedLinear)
    assert isinstance(module[1][0], PackedLinear)
    torch.testing.assert_close(module(states), expected)


def test_a_packed_model_answers_as_the_model_in_bf16():
    """Holds with and without matrix units: without them packing only changes the precision."""
    model = tiny_model()
    plain, packed = copy.deepcopy(model).to(torch.bfloat16), copy.deepcopy(model).pack()
    ids = torch.randint(0, 37, (2, 6))
    sources = {
        name: {"input_ids": torch.randint(0, 37, (2, 5)), "attention_mask": torch.ones(2, 5)}
        for name in ("persona", "context")
    }
    with torch.no_grad():
        torch.testing.assert_close(packed(ids, sources=sources).logits, plain(ids, sources=sources).logits)
