"""The four strategies of Libovicky, Helcl and Marecek (2018)."""

import pytest
import torch

from personae.fusion import Fusion
from tests.fusion.answers import B, D, T, randoms, views_of
from tests.helpers import Layer

each_count = pytest.mark.parametrize("count", [1, 2, 3])
WIDTH, LENGTHS = 8, (5, 3, 6)


def sources_of(count):
    """States (B, S, D) with padding at the end of the second row, and their masks."""
    torch.manual_seed(2)
    masks = [torch.ones(B, length).bool() for length in LENGTHS[:count]]
    for mask in masks:
        mask[1, -2:] = False
    return [(torch.randn(*mask.shape, WIDTH), mask) for mask in masks]


@each_count
def test_parallel_is_sum(count):
    outputs = randoms(count)
    views = views_of(outputs)
    for part, output in zip(Fusion.build("parallel", dim=D, sources=count)(outputs[0], views), outputs, strict=True):
        assert torch.equal(part, output)


@each_count
def test_serial_asks_with_what_the_sources_before_said(count):
    layer, hidden = Layer("serial", count), torch.randn(B, T, WIDTH)
    views = layer.views(hidden, sources_of(count))
    given = layer.fusion(hidden, views)
    state = hidden
    for view, ask, part in zip(views, layer.asks, given, strict=True):
        torch.testing.assert_close(part, view.attend(ask.norm(state)))
        state = state + part
    torch.testing.assert_close(given[0], views[0].output)


def test_serial_depends_on_the_order():
    layer, hidden = Layer("serial", 2), torch.randn(B, T, WIDTH)
    views = layer.views(hidden, sources_of(2))
    one, other = sum(layer.fusion(hidden, views)), sum(layer.fusion(hidden, views[::-1]))
    assert not torch.allclose(one, other)


def split(states, heads=2):
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)


@each_count
def test_flat_is_one_softmax_over_the_concatenated_keys(count):
    """Each source has its own query, keys, values and output projection, all positions have one softmax."""
    layer, hidden, sources = Layer("flat", count), torch.randn(B, T, WIDTH), sources_of(count)
    given = layer(hidden, sources)
    scores, values = [], []
    for ask, (states, mask) in zip(layer.asks, sources, strict=True):
        key, value = (split(part) for part in ask.attention.c_attn(states).chunk(2, dim=-1))
        score = split(ask.attention.q_attn(ask.norm(hidden))) @ key.transpose(-1, -2) / (WIDTH // 2) ** 0.5
        scores.append(score.masked_fill(~mask[:, None, None], -torch.inf))
        values.append(value)
    weights = torch.cat(scores, dim=-1).softmax(-1).split([score.shape[-1] for score in scores], dim=-1)
    for part, weight, value, ask in zip(given, weights, values, layer.asks, strict=True):
        torch.testing.assert_close(part, ask.attention.c_proj((weight @ value).transpose(1, 2).flatten(-2)))


def test_flat_over_one_text_in_two_parts_is_attention_to_the_whole():
    """Where the parts share their attention, the sum is that over the whole, but for a second bias."""
    layer, hidden = Layer("flat", 2), torch.randn(B, T, WIDTH)
    layer.asks[1].load_state_dict(layer.asks[0].state_dict())
    sources = sources_of(2)
    whole = tuple(torch.cat(parts, dim=1) for parts in zip(*sources, strict=True))
    single = Layer("sum", 1)
    single.asks[0].load_state_dict(layer.asks[0].state_dict())
    both = sum(layer(hidden, sources)) - layer.asks[0].attention.c_proj.bias
    torch.testing.assert_close(both, single(hidden, [whole])[0])


@pytest.mark.parametrize("count", [2, 3])
def test_hierarchical_attends_to_the_answers(count):
    outputs, hidden = randoms(count), torch.randn(B, T, D)
    torch.manual_seed(3)
    fusion = Fusion.build("hierarchical", dim=D, sources=count)
    given = fusion(hidden, views_of(outputs))
    (energy,) = fusion.energy.weight
    for b in range(B):
        for t in range(T):
            state = fusion.state.weight @ hidden[b, t]
            compared = [fusion.compare[at].weight @ outputs[at][b, t] for at in range(count)]
            beta = torch.stack([energy @ torch.tanh(state + one) for one in compared]).softmax(0)
            for at in range(count):
                torch.testing.assert_close(given[at][b, t], beta[at] * (fusion.project[at].weight @ outputs[at][b, t]))


def test_hierarchical_has_its_matrices_per_source_and_no_bias():
    shapes = {key: tuple(one.shape) for key, one in Fusion.build("hierarchical", dim=D, sources=2).named_parameters()}
    per_source = {f"{part}.{at}.weight": (D, D) for part in ("compare", "project") for at in range(2)}
    assert shapes == {"state.weight": (D, D), "energy.weight": (1, D), **per_source}
