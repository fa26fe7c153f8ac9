"""PAA against Eq. 3 to 7 of Huang et al. (2023), written out with plain tensors."""

import pytest
import torch
from torch import Tensor

from personae.errors import UserError
from personae.fusion import Fusion, View

B, T, D = 2, 3, 4
P = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0]]).bool()
U = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]).bool()
# |P| = 3, 1 and |U| = 5, 3.
TAU = {"context": (5 / 8, 3 / 4), "persona": (3 / 8, 1 / 4)}


def view(mask: Tensor, output: Tensor) -> View:
    return View(torch.zeros(*mask.shape, D), mask, torch.zeros(B, T, D), lambda query: output)


@pytest.fixture
def answers() -> tuple[Tensor, Tensor, Tensor]:
    """h_R, o_P, o_U."""
    torch.manual_seed(0)
    hidden, persona, context = (torch.randn(B, T, D) for _ in range(3))
    return hidden, persona, context


def make(**options: object) -> Fusion:
    torch.manual_seed(1)
    fusion = Fusion.build("paa", dim=D, sources=2, **options)
    torch.nn.init.normal_(fusion.gate.weight)
    torch.nn.init.normal_(fusion.gate.bias)
    return fusion


@pytest.mark.parametrize("options", [{}, {"tau": "context"}, {"tau": "persona"}, {"tau": 0.3}, {"tau": 1}])
def test_the_equations(answers: tuple[Tensor, Tensor, Tensor], options: dict[str, object]) -> None:
    hidden, o_p, o_u = answers
    fusion = make(**options)
    given = fusion(hidden, [view(P, o_p), view(U, o_u)])
    for b in range(B):
        rule = options.get("tau", "context")
        tau = TAU[rule][b] if isinstance(rule, str) else rule
        for t in range(T):
            joined = torch.cat([hidden[b, t], o_p[b, t]])
            for d in range(D):
                w = torch.sigmoid(fusion.gate.weight[d] @ joined + fusion.gate.bias[d])
                m_p, m_u = float(w > tau), float(w < 1 - tau)
                torch.testing.assert_close(given[0][b, t, d], w * m_p * o_p[b, t, d])
                torch.testing.assert_close(given[1][b, t, d], (1 - w) * m_u * o_u[b, t, d])


def test_the_masks_open_and_close(answers: tuple[Tensor, Tensor, Tensor]) -> None:
    """The examples above hold open and closed entries of both sources, or they would prove little."""
    hidden, o_p, o_u = answers
    for rule in TAU:
        for part in make(tau=rule)(hidden, [view(P, o_p), view(U, o_u)]):
            assert 0 < (part == 0).sum() < part.numel()


@pytest.mark.parametrize(("tau", "opened"), [(0.5, (False, False)), (0.49, (True, True)), (0.51, (False, False))])
def test_at_equality_both_masks_are_closed(
    answers: tuple[Tensor, Tensor, Tensor], tau: float, opened: tuple[bool, bool]
) -> None:
    """A gate of zeros is w = 1/2 exactly: strictly above tau, and strictly below 1 - tau."""
    hidden, o_p, o_u = answers
    fusion = Fusion.build("paa", dim=D, sources=2, tau=tau)
    torch.nn.init.zeros_(fusion.gate.weight)
    torch.nn.init.zeros_(fusion.gate.bias)
    given = fusion(hidden, [view(P, o_p), view(U, o_u)])
    for contribution, answer, is_open in zip(given, (o_p, o_u), opened, strict=True):
        torch.testing.assert_close(contribution, 0.5 * answer if is_open else torch.zeros_like(answer))


def test_gradient_reaches_the_gate_by_the_products_only(answers: tuple[Tensor, Tensor, Tensor]) -> None:
    """The masks are constants: a closed entry gives its weight no gradient."""
    hidden, o_p, o_u = answers
    fusion = make(tau=1.0)
    sum(part.sum() for part in fusion(hidden, [view(P, o_p), view(U, o_u)])).backward()
    assert fusion.gate.weight.grad.abs().sum() == 0
    fusion = make(tau=0.0)
    (first, _) = fusion(hidden, [view(P, o_p), view(U, o_u)])
    first.sum().backward()
    weight = torch.sigmoid(fusion.gate(torch.cat([hidden, o_p], -1)))
    expected = (weight * (1 - weight) * o_p).sum((0, 1))
    torch.testing.assert_close(fusion.gate.bias.grad, expected)


@pytest.mark.parametrize("tau", ["contxt", "", "accurate", -0.1, 1.1, float("nan")])
def test_a_bad_tau_is_the_users_error(tau: object) -> None:
    with pytest.raises(UserError, match="tau"):
        Fusion.build("paa", dim=D, sources=2, tau=tau)


@pytest.mark.parametrize("tau", [None, True, [0.5]])
def test_a_tau_of_another_type_is_the_users_error(tau: object) -> None:
    with pytest.raises(UserError, match="tau"):
        Fusion.build("paa", dim=D, sources=2, tau=tau)


def test_the_gate_has_a_bias_and_reads_twice_the_width() -> None:
    fusion = Fusion.build("paa", dim=D, sources=2)
    assert {name: tuple(one.shape) for name, one in fusion.named_parameters()} == {
        "gate.weight": (D, 2 * D),
        "gate.bias": (D,),
    }
