"""AfterBlock: self-attention, then the sources' contributions, then the MLP, each added to what was there."""

import pytest
import torch

from personae.layers.blocks import AfterBlock, BesideBlock, Block, PostBesideBlock
from personae.layers.memory import Encoded
from tests.helpers import CLOSE, VARIANTS, tiny_model

B, T, S, D = 2, 4, 5, 16


@pytest.fixture(params=["paa", "sum"], scope="module")
def block(request):
    return next(part for part in tiny_model(fusion=request.param).modules() if isinstance(part, AfterBlock))


def encoded(width=D, seed=0):
    torch.manual_seed(seed)
    return [Encoded(torch.randn(B, S, width), torch.ones(B, S, dtype=torch.bool)) for _ in range(2)]


def causal():
    return torch.full((T, T), float("-inf")).triu(1)[None, None].expand(B, 1, T, T)


@torch.no_grad()
def test_contributions_sum_to_the_output(block):
    torch.manual_seed(1)
    hidden = torch.randn(B, T, D)
    seen = []
    hook = block.fusion.register_forward_hook(lambda _, args, out: seen.append((args[0], out)))
    output = block(hidden, encoded(), causal())
    hook.remove()
    ((residual, contributions),) = seen
    attended = hidden + block.attn(block.ln_1(hidden), attention_mask=causal())[0]
    torch.testing.assert_close(residual, attended, **CLOSE)
    fused = attended + contributions[0] + contributions[1]
    torch.testing.assert_close(output, fused + block.mlp(block.ln_2(fused)), **CLOSE)


@torch.no_grad()
def test_views_are_asked_with_their_own_norm_and_attention(block):
    hidden, sources = torch.randn(B, T, D), encoded()
    for view, ask, source in zip(block.views(hidden, sources), block.asks, sources, strict=True):
        assert torch.equal(view.query, ask.norm(hidden))
        assert torch.equal(view.output, ask.attention(ask.norm(hidden), source))
        assert view.output is view.output
        assert torch.equal(view.states, source.states)
        assert view.length.tolist() == [S, S]


@torch.no_grad()
def test_views_of_several_rows_per_example_repeat_states_and_mask(block):
    sources = encoded()
    views = block.views(torch.randn(3 * B, T, D), sources)
    assert torch.equal(views[0].states, sources[0].states.repeat_interleave(3, 0))
    assert torch.equal(views[0].mask, sources[0].mask.repeat_interleave(3, 0))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_builds_its_own_parts(variant):
    beside = VARIANTS[variant].get("block") == "beside"
    blocks = [part for part in tiny_model(fusion="sum", variant=variant).decoder.modules() if isinstance(part, Block)]
    kind = PostBesideBlock if variant == "post_norm" else BesideBlock if beside else AfterBlock
    assert {type(block) for block in blocks} == {kind}
    block = blocks[0]
    assert len(block.asks) == (1 if variant in ("share_attention", "share_self_attention") else 2)
    assert (block.bridge is None) == (variant != "bridge")


@torch.no_grad()
def test_a_block_without_a_fusion_is_gpt2s():
    block = next(part for part in tiny_model(sources=()).modules() if isinstance(part, AfterBlock))
    hidden = torch.randn(B, T, D)
    attended = hidden + block.attn(block.ln_1(hidden), attention_mask=causal())[0]
    torch.testing.assert_close(block(hidden, [], causal()), attended + block.mlp(block.ln_2(attended)), **CLOSE)
