"""A product repeated step by step: its values and gradients are those of the plain product."""

import pytest
import torch

from personae.layers.adaptive.repeated import Repeated


def leaves():
    torch.manual_seed(0)
    rows = [torch.randn(2, 3, 4).double().requires_grad_() for _ in range(3)]
    return rows, torch.randn(2, 5, 4).double().requires_grad_()


def losses(multiply, rows, steps):
    """Each step's outcome goes into the next."""
    total, carried = 0.0, 0.0
    for row in rows[:steps]:
        out = multiply(row + carried)
        carried = out[..., :4].tanh()
        total = total + out.square().sum()
    return total


@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_are_autograds(steps):
    rows, weight = leaves()
    expected = torch.autograd.grad(losses(lambda row: row @ weight.mT, rows, steps), [*rows[:steps], weight])
    found = torch.autograd.grad(losses(Repeated(weight.mT), rows, steps), [*rows[:steps], weight])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_step_that_nothing_asks_for_counts_for_nothing():
    rows, weight = leaves()
    multiply = Repeated(weight.mT)
    kept, _ = multiply(rows[0]), multiply(rows[1])
    kept.sum().backward()
    torch.testing.assert_close(weight.grad, torch.autograd.grad((rows[0] @ weight.mT).sum(), weight)[0])
    assert rows[1].grad is None


def test_backward_may_come_twice():
    rows, weight = leaves()
    loss = losses(Repeated(weight.mT), rows, 3)
    first = torch.autograd.grad(loss, weight, retain_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(loss, weight)[0], first)


def test_without_gradients_it_is_the_product():
    rows, weight = leaves()
    with torch.no_grad():
        found = Repeated(weight.mT)(rows[0])
    assert torch.equal(found, rows[0] @ weight.mT)
    assert not found.requires_grad


def test_under_autocast_it_multiplies_in_bf16_and_its_gradients_are_float32():
    rows, weight = leaves()
    row, weight = rows[0].detach().float().requires_grad_(), weight.detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        found = Repeated(weight.mT)(row)
        expected = row @ weight.mT
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, expected)
    found.float().sum().backward()
    assert row.grad.dtype == weight.grad.dtype == torch.float32
    torch.testing.assert_close(weight.grad, row.sum(1, keepdim=True).expand_as(weight).detach(), atol=0.02, rtol=0.02)
