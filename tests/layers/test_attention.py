import pytest
import torch
from torch import nn

from personae.layers.attention import SourceAttention
from personae.layers.memory import Encoded
from tests.helpers import CLOSE, counted_calls, shake

B, T, S, D, H = 2, 3, 5, 8, 2


@pytest.fixture
def attention():
    return shake(SourceAttention(D, H)).eval()


@pytest.fixture
def source():
    torch.manual_seed(0)
    return Encoded(torch.randn(B, S, D), torch.tensor([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0]]).bool())


def by_hand(attention, query, states):
    """One row without padding: (T, D) query, (S, D) states, each head in turn."""
    asked = query @ attention.q_attn.weight + attention.q_attn.bias
    keys, values = (states @ attention.c_attn.weight + attention.c_attn.bias).chunk(2, -1)
    size, heads = D // H, []
    for head in range(H):
        part = slice(head * size, (head + 1) * size)
        weights = (asked[:, part] @ keys[:, part].T / size**0.5).softmax(-1)
        heads.append(weights @ values[:, part])
    return torch.cat(heads, -1) @ attention.c_proj.weight + attention.c_proj.bias


def test_it_is_scaled_dot_product_attention_over_real_tokens(attention, source):
    query = torch.randn(B, T, D)
    answer = attention(query, source)
    for row in range(B):
        expected = by_hand(attention, query[row], source.states[row][source.mask[row]])
        torch.testing.assert_close(answer[row], expected, **CLOSE)


def test_further_rows_of_one_example_ask_the_same_source(attention, source):
    query = torch.randn(3 * B, T, D)
    answer = attention(query, source)
    for row in range(3 * B):
        example = row // 3
        expected = by_hand(attention, query[row], source.states[example][source.mask[example]])
        torch.testing.assert_close(answer[row], expected, **CLOSE)


def test_keys_and_values_are_projected_once_per_source_and_layer(attention, source):
    other = shake(SourceAttention(D, H), seed=1).eval()
    with counted_calls([attention.c_attn, other.c_attn]) as calls:
        for _ in range(3):
            attention(torch.randn(B, T, D), source)
            other(torch.randn(2 * B, T, D), source)
    assert calls == [attention.c_attn, other.c_attn]


def test_a_bridge_maps_states_of_another_width(attention):
    bridge = nn.Linear(6, D)
    states, mask = torch.randn(B, S, 6), torch.ones(B, S, dtype=torch.bool)
    query = torch.randn(B, T, D)
    expected = attention(query, Encoded(bridge(states), mask))
    torch.testing.assert_close(attention(query, Encoded(states, mask), bridge), expected, **CLOSE)


def test_dropout_is_for_training_only(source):
    attention = shake(SourceAttention(D, H, attention_dropout=0.5, output_dropout=0.5))
    query = torch.randn(B, T, D)
    torch.manual_seed(0)
    noisy, again = attention(query, source), attention(query, source)
    assert not torch.equal(noisy, again)
    assert (noisy == 0).any()
    attention.eval()
    assert torch.equal(attention(query, source), attention(query, source))
