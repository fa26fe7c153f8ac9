"""The condition-aware block against Eq. 11 to 14 of Huang et al. (2023), position by position. P reply positions."""

import copy

import pytest
import torch
from torch import Tensor

from personae.errors import UserError
from personae.fusion import Fusion
from personae.fusion.base import Past, View
from tests.fusion.answers import KeptPast
from tests.fusion.test_param import Uncut
from tests.helpers import CLOSE

D, T = 6, 5
POOLINGS = ["mean", "max"]
LENGTHS = ((4, 2), (3, 5))

each_pooling = pytest.mark.parametrize("pooling", POOLINGS)


def made(pooling: str = "mean", sources: int = 2) -> Fusion:
    torch.manual_seed(1)
    fusion = Fusion.build("condition", dim=D, sources=sources, pooling=pooling)
    for parameter in fusion.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return fusion


def sources() -> list[View]:
    """Two sources of two examples, with large noise under the padding of the shorter one, left and right."""
    torch.manual_seed(2)
    views = []
    for lengths, side in zip(LENGTHS, ("left", "right"), strict=True):
        width = max(lengths)
        places = torch.arange(width).expand(2, width)
        ends = torch.tensor(lengths)[:, None]
        mask = places >= width - ends if side == "left" else places < ends
        states = torch.randn(2, width, D).where(mask[..., None], torch.tensor(50.0))
        views.append(View(states, mask, torch.zeros(2, T, D)))
    return views


def hidden_states() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(2, T, D)


def pooled(rows: Tensor, pooling: str) -> Tensor:
    return rows.mean(0) if pooling == "mean" else rows.max(0).values


@each_pooling
def test_the_equations(pooling: str) -> None:
    fusion, hidden, views = made(pooling), hidden_states(), sources()
    own, *found = fusion(hidden, views)
    slots = [*found, own]
    weight, bias = fusion.transform.weight, fusion.transform.bias
    for b in range(2):
        fixed = [pooled(view.states[b][view.mask[b]], pooling) for view in views]
        for t in range(T):
            conditions = [*fixed, pooled(hidden[b, : t + 1], pooling)]
            query = (fusion.query.weight @ hidden[b, t] + fusion.query.bias).view(3, D)
            keys = [fusion.key.weight @ each + fusion.key.bias for each in conditions]
            scores = torch.stack([query[i] @ keys[i] / D**0.5 for i in range(3)])
            shares = scores.exp() / scores.exp().sum()
            for i in range(3):
                value = shares[i] * (fusion.value.weight @ conditions[i] + fusion.value.bias)
                expected = weight[:, i * D : (i + 1) * D] @ value + bias / 3
                torch.testing.assert_close(slots[i][b, t], expected, **CLOSE)


def test_it_has_the_published_parameters() -> None:
    shapes = {key: tuple(one.shape) for key, one in made().named_parameters() if key.endswith("weight")}
    expected = {"query": (3 * D, D), "key": (D, D), "value": (D, D), "transform": (D, 3 * D)}
    assert shapes == {f"{key}.weight": shape for key, shape in expected.items()}
    assert sum(one.numel() for one in made().parameters()) == 8 * D * D + 6 * D


def left_padded(hidden: Tensor, by: int) -> tuple[Tensor, Past]:
    """The reply with ``by`` noisy positions before it; a padded position sees itself, as the decoder has it."""
    noise = torch.full((2, by, D), 70.0)
    size = by + T
    mask = torch.ones(2, size, size).bool().tril()
    mask[:, :, :by] = False
    mask |= torch.eye(size).bool()
    return torch.cat([noise, hidden], dim=1), Past(mask, lambda one, two: (one, two))


@each_pooling
def test_padding_before_the_reply_changes_nothing(pooling: str) -> None:
    fusion, hidden, views = made(pooling), hidden_states(), sources()
    padded, past = left_padded(hidden, 3)
    for ours, theirs in zip(fusion(padded, views, past), fusion(hidden, views), strict=True):
        assert ours.isfinite().all()
        torch.testing.assert_close(ours[:, 3:], theirs, **CLOSE)


@each_pooling
def test_padding_after_the_reply_changes_nothing(pooling: str) -> None:
    fusion, hidden, views = made(pooling), hidden_states(), sources()
    mask = torch.ones(2, T, T).bool().tril()
    mask[:, :, T - 2 :] = False
    past = Past(mask, lambda one, two: (one, two))
    for ours, theirs in zip(fusion(hidden, views, past), fusion(hidden[:, : T - 2], views), strict=True):
        torch.testing.assert_close(ours[:, : T - 2], theirs, **CLOSE)


@each_pooling
def test_where_nothing_is_real_the_numbers_are_finite(pooling: str) -> None:
    """A padded position that sees nothing, and a source without a token, count as a condition of zeros."""
    fusion, hidden, views = made(pooling), hidden_states(), sources()
    empty = View(views[0].states, torch.zeros_like(views[0].mask), views[0].query)
    past = Past(torch.zeros(2, T, T).bool(), lambda one, two: (one, two))
    for part in fusion(hidden, [empty, views[1]], past):
        assert part.isfinite().all()
    zeros = View(torch.zeros(2, 1, D), torch.ones(2, 1).bool(), views[0].query)
    for ours, theirs in zip(fusion(hidden, [empty, views[1]]), fusion(hidden, [zeros, views[1]]), strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


@each_pooling
@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_cached_steps_are_the_full_pass_with_padding(pooling: str, chunk: int) -> None:
    fusion, views = made(pooling), sources()
    hidden, past = left_padded(hidden_states(), 2)
    kept, steps = KeptPast(), []
    for at in range(0, hidden.shape[1], chunk):
        end = min(at + chunk, hidden.shape[1])
        steps.append(fusion(hidden[:, at:end], views, kept.step(past.mask[:, at:end, :end])))
    for ours, theirs in zip(zip(*steps, strict=True), fusion(hidden, views, past), strict=True):
        torch.testing.assert_close(torch.cat(ours, dim=1)[:, 2:], theirs[:, 2:], **CLOSE)


@each_pooling
def test_a_packed_output_layer_gives_the_same_parts(pooling: str) -> None:
    fusion, hidden, views = made(pooling), hidden_states(), sources()
    packed = copy.deepcopy(fusion)
    packed.transform = Uncut(packed.transform)
    for ours, theirs in zip(packed(hidden, views), fusion(hidden, views), strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


@each_pooling
def test_half_precision_keeps_its_type(pooling: str) -> None:
    fusion = made(pooling).to(torch.bfloat16)
    views = [View(view.states.to(torch.bfloat16), view.mask, view.query) for view in sources()]
    for part in fusion(hidden_states().to(torch.bfloat16), views):
        assert part.dtype == torch.bfloat16
        assert part.isfinite().all()


@pytest.mark.parametrize("pooling", ["sum", "", None, True])
def test_another_pooling_is_the_users_error(pooling: object) -> None:
    with pytest.raises(UserError, match="pooling is 'mean' or 'max'"):
        Fusion.build("condition", dim=D, sources=2, pooling=pooling)
