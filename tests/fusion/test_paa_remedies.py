"""The remedies for closed masks: what they change of PAA, and what they leave alone."""

import pytest
import torch

from personae.fusion import Fusion
from tests.fusion.test_paa import B, D, P, T, U, view

REMEDIES = [name for name in Fusion.names() if name.startswith("paa-")]


def answers():
    torch.manual_seed(0)
    return [torch.randn(B, T, D) for _ in range(3)]


def made(name, gate=1.0, **options):
    torch.manual_seed(1)
    fusion = Fusion.build(name, dim=D, sources=2, **options)
    torch.nn.init.normal_(fusion.gate.weight, std=gate)
    torch.nn.init.zeros_(fusion.gate.bias)
    return fusion


def test_straight_through_masks_have_paas_values():
    hidden, o_p, o_u = answers()
    views = [view(P, o_p), view(U, o_u)]
    for ours, theirs in zip(made("paa-straight-through")(hidden, views), made("paa")(hidden, views), strict=True):
        torch.testing.assert_close(ours, theirs)
        assert torch.equal(ours == 0, theirs == 0)


def test_straight_through_masks_let_gradient_pass_when_closed():
    """With tau 1 both masks are shut: d/dw of w m_P o_P is then w o_P, and of (1 - w) m_U o_U -(1 - w) o_U."""
    hidden, o_p, o_u = answers()
    for source in (0, 1):
        fusion = made("paa-straight-through", tau=1.0)
        contribution = fusion(hidden, [view(P, o_p), view(U, o_u)])[source]
        assert (contribution == 0).all()
        contribution.sum().backward()
        w = torch.sigmoid(fusion.gate(torch.cat([hidden, o_p], -1))).detach()
        slope = w * o_p if source == 0 else -(1 - w) * o_u
        torch.testing.assert_close(fusion.gate.bias.grad, (slope * w * (1 - w)).sum((0, 1)))


@pytest.mark.parametrize("tau", [0.6, 0.75, 0.9, 0.99, 1.0])
def test_an_open_gate_starts_open_to_both_sources(tau):
    """A fresh gate lies near 1/2, where PAA with such a tau drops everything."""
    hidden, o_p, o_u = answers()
    views = [view(P, o_p), view(U, o_u)]
    closed = made("paa", gate=0.02, tau=tau)(hidden, views)
    assert all((part == 0).all() for part in closed)
    opened = made("paa-open", gate=0.02, tau=tau)(hidden, views)
    limit = 1 if tau < 1 else 0  # at tau 1 the rule itself shuts everything
    for part in opened:
        assert (part != 0).float().mean() == pytest.approx(0.5 * limit)


def test_an_open_gate_is_paa_where_tau_is_small():
    hidden, o_p, o_u = answers()
    views = [view(P, o_p), view(U, o_u)]
    for tau in (0.0, 0.3, 0.5):
        for ours, theirs in zip(
            made("paa-open", tau=tau)(hidden, views), made("paa", tau=tau)(hidden, views), strict=True
        ):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_has_paas_parameters(name):
    shapes = {key: value.shape for key, value in made("paa").state_dict().items()}
    assert {key: value.shape for key, value in made(name).state_dict().items()} == shapes
