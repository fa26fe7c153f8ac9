"""Attention routing: alpha o_P and (1 - alpha) o_U + o_U."""

import pytest
import torch

from personae.errors import UserError
from personae.fusion import Fusion
from tests.fusion.answers import B, D, T, randoms, views_of


@pytest.mark.parametrize(("options", "alpha"), [({}, 0.2), ({"alpha": 0.1}, 0.1), ({"alpha": 0}, 0), ({"alpha": 1}, 1)])
def test_the_formula(options: dict[str, float], alpha: float) -> None:
    o_p, o_u = randoms(2)
    fusion = Fusion.build("routing", dim=D, sources=2, **options)
    persona, context = fusion(torch.randn(B, T, D), views_of([o_p, o_u]))
    torch.testing.assert_close(persona, alpha * o_p)
    torch.testing.assert_close(context, (2 - alpha) * o_u)


def test_it_has_no_parameters() -> None:
    assert list(Fusion.build("routing", dim=D, sources=2).parameters()) == []


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "0.2", None, True, [0.2]])
def test_a_bad_alpha_is_the_users_error(alpha: object) -> None:
    with pytest.raises(UserError, match="alpha is a number from 0 to 1"):
        Fusion.build("routing", dim=D, sources=2, alpha=alpha)
