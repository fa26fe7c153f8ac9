"""PAA's variants against their formulas, written out entry by entry with plain numbers."""

from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from personae.errors import UserError
from personae.fusion import Fusion
from personae.fusion.base import View
from tests.fusion.test_paa import TAU, B, D, P, T, U

TAUS = [{}, {"tau": "context"}, {"tau": "persona"}, {"tau": 0.3}, {"tau": 0.5}]


def dual(w: float, v: float, t: float, e: Mapping[str, float]) -> tuple[float, ...]:
    """``w`` and ``v``: what the persona's and the context's gate say of this entry."""
    return w * (w > t) * e["o_p"], v * (v < 1 - t) * e["o_u"]


def dual_published(w: float, v: float, t: float, e: Mapping[str, float]) -> tuple[float, ...]:
    own = (1 - w) * (w < 1 - t) * e["q_p"] + (1 - v) * (v > t) * e["q_u"]
    return own / 2, w * (w > t) * e["o_p"] / 2, v * (v < 1 - t) * e["o_u"] / 2


def skipped(w: float, v: float, t: float, e: Mapping[str, float]) -> tuple[float, ...]:
    return w * (w > t) * e["o_p"], e["o_u"]


def context(w: float, v: float, t: float, e: Mapping[str, float]) -> tuple[float, ...]:
    return (1 - v) * (v < 1 - t) * e["o_p"], v * (v > t) * e["o_u"]


def context_published(w: float, v: float, t: float, e: Mapping[str, float]) -> tuple[float, ...]:
    return w * (v < 1 - t) * e["o_p"], (1 - w) * (v > t) * e["o_u"]


RULES: dict[str, Callable[..., tuple[float, ...]]] = {
    "dual": dual,
    "dual-published": dual_published,
    "skipped": skipped,
    "context": context,
    "context-published": context_published,
}
# Where each gate stands in our classes: the persona's, the context's.
GATES = dict.fromkeys(RULES, ("gate", "context_gate")) | {"skipped": ("gate", ""), "context": ("", "gate")}
each = pytest.mark.parametrize("name", RULES)


def states() -> dict[str, Tensor]:
    """h, o_P, o_U, q_P and q_U."""
    torch.manual_seed(0)
    return {key: torch.randn(B, T, D) for key in ("h", "o_p", "o_u", "q_p", "q_u")}


def made(name: str, **options: object) -> Fusion:
    torch.manual_seed(1)
    fusion = Fusion.build(name, dim=D, sources=2, **options)
    for parameter in fusion.parameters():
        torch.nn.init.normal_(parameter)
    return fusion


def contributions(fusion: Fusion, given: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    persona, context = (
        View(torch.zeros(*mask.shape, D), mask, given[f"q_{key}"], lambda _, key=key: given[f"o_{key}"])
        for key, mask in (("p", P), ("u", U))
    )
    found: tuple[Tensor, ...] = fusion(given["h"], [persona, context])
    return found


def gate(fusion: Fusion, module: str, hidden: Tensor, answer: Tensor) -> Tensor:
    """sigmoid(FC([h; o])) of one entry (D); nothing where the variant has no such gate."""
    if not module:
        return torch.full((D,), torch.nan)
    layer = fusion.get_submodule(module)
    return torch.sigmoid(layer.weight @ torch.cat([hidden, answer]) + layer.bias)


@each
@pytest.mark.parametrize("options", TAUS)
def test_the_formula(name: str, options: dict[str, object]) -> None:
    given, fusion = states(), made(name, **options)
    found = contributions(fusion, given)
    rule = options.get("tau", "context")
    for b in range(B):
        tau = TAU[rule][b] if isinstance(rule, str) else rule
        for t in range(T):
            persona_gate, context_gate = GATES[name]
            w = gate(fusion, persona_gate, given["h"][b, t], given["o_p"][b, t])
            v = gate(fusion, context_gate, given["h"][b, t], given["o_u"][b, t])
            for d in range(D):
                entry = {key: value[b, t, d].item() for key, value in given.items()}
                expected = RULES[name](w[d].item(), v[d].item(), tau, entry)
                assert [part[b, t, d].item() for part in found] == pytest.approx(list(expected), rel=1e-4, abs=1e-6)


@each
def test_masks_open_and_close(name: str) -> None:
    """The entries above are on both sides of every mask, or they would prove little."""
    found = contributions(made(name), states())
    masked = found[:1] if name == "skipped" else found
    for part in masked:
        assert 0 < (part == 0).sum() < part.numel()


@each
@pytest.mark.parametrize("tau", ["contxt", None, True, 1.1])
def test_a_bad_tau_is_the_users_error(name: str, tau: object) -> None:
    with pytest.raises(UserError, match="tau"):
        Fusion.build(name, dim=D, sources=2, tau=tau)


@each
def test_its_gates_are_linear_layers_from_twice_the_width(name: str) -> None:
    shapes = {key: tuple(one.shape) for key, one in made(name).named_parameters()}
    expected = {f"{module}.{part}" for module in GATES[name] if module for part in ("weight", "bias")}
    assert set(shapes) == expected
    assert all(shape == ((D, 2 * D) if key.endswith("weight") else (D,)) for key, shape in shapes.items())


def test_the_published_context_gate_never_learns() -> None:
    """It feeds masks only. Another fusion's gates do learn."""
    fusion = made("context-published")
    assert [key for key, one in fusion.named_parameters() if not one.requires_grad] == [
        "context_gate.weight",
        "context_gate.bias",
    ]
    assert all(one.requires_grad for one in made("dual").parameters())


@pytest.mark.parametrize("name", ["dual", "dual-published", "skipped", "context"])
def test_gradient_reaches_a_gate_by_the_products_only(name: str) -> None:
    """A source whose mask is closed everywhere gives its gate no gradient: the masks are constants."""
    fusion = made(name, tau=1.0)  # closes [w > 1] and [w < 0] both
    found = contributions(fusion, states())
    gated = found[:1] if name == "skipped" else found
    sum(part.sum() for part in gated).backward()
    assert all(one.grad.abs().sum() == 0 for one in fusion.parameters())
