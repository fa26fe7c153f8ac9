"""att of Cao et al. (2020): Eq. 3 written out position by position, and as published."""

import math

import pytest
import torch

from personae.errors import UserError
from personae.fusion import Fusion
from personae.fusion.base import Past
from tests.fusion.answers import B, D, KeptPast, T, randoms, views_of

HIDDEN = torch.zeros(B, T, D)
NAMES = ("attention", "attention-published")
each = pytest.mark.parametrize("name", NAMES)
each_heads = pytest.mark.parametrize("heads", [1, 2, 3])


def made(name, count=3, **options):
    torch.manual_seed(1)
    fusion = Fusion.build(name, dim=D, sources=count, **options)
    torch.nn.init.normal_(fusion.project.weight)
    torch.nn.init.normal_(fusion.project.bias)
    return fusion


def signed_root(q, k):
    product = float(q @ k)
    return math.copysign(math.sqrt(abs(product)), product)


def published_score(q, k):
    return math.sqrt(float(q.abs() @ k.abs())) / math.sqrt(len(q))


def expected(score, query, key, value, heads):
    """(B, T, D) before the projection; a position sees itself and what is before it."""
    answer = torch.zeros(B, T, D)
    for b in range(B):
        for t in range(T):
            for part in torch.arange(D).chunk(heads):
                scores = torch.tensor([score(query[b, t, part], key[b, p, part]) for p in range(t + 1)])
                answer[b, t, part] = scores.softmax(0) @ value[b, : t + 1][:, part]
    return answer


@each_heads
def test_the_papers_equation(heads):
    own, persona, history = randoms(3)
    fusion = made("attention", heads=heads)
    given = fusion(HIDDEN, views_of([own, persona, history]))
    answer = fusion.project(expected(signed_root, own, persona, history, heads))
    torch.testing.assert_close(given[2], answer, atol=1e-4, rtol=1e-4)
    assert not given[0].any()
    assert not given[1].any()


@each_heads
def test_the_published_formula(heads):
    own, persona, history = randoms(3)
    fusion = made("attention-published", heads=heads)
    given = fusion(HIDDEN, views_of([own, persona, history]))
    torch.testing.assert_close(given[0], fusion.project(expected(published_score, persona, history, own, heads)))
    assert not given[1].any()
    assert not given[2].any()


def test_further_views_are_values_and_add_their_mean_share():
    query, key, *values = randoms(5)
    fusion = made("attention", count=5)
    _, _, *given = fusion(HIDDEN, views_of([query, key, *values]))
    for value, part in zip(values, given, strict=True):
        answer = expected(signed_root, query, key, value, heads=1)
        share = answer @ fusion.project.weight.T / 3 + fusion.project.bias / 3
        torch.testing.assert_close(part, share, atol=1e-4, rtol=1e-4)


@each
def test_a_kept_past_gives_the_whole_pass(name):
    outputs, fusion, kept = randoms(3), made(name), KeptPast()
    whole = fusion(HIDDEN, views_of(outputs))
    for at, size in ((0, 2), (2, 1), (3, 1)):
        part = slice(at, at + size)
        mask = torch.ones(B, T, T).bool().tril()[:, part, : at + size]
        step = fusion(HIDDEN[:, part], views_of([one[:, part] for one in outputs]), kept.step(mask))
        for one, other in zip(step, whole, strict=True):
            torch.testing.assert_close(one, other[:, part])


@each
def test_padding_in_the_reply_changes_nothing(name):
    outputs, fusion = randoms(3), made(name)
    mask = torch.ones(B, T, T).bool().tril()
    mask[:, 1:, 0] = False  # the first position is padding and sees itself
    padded = fusion(HIDDEN, views_of(outputs), Past(mask, lambda one, two: (one, two)))
    alone = fusion(HIDDEN[:, 1:], views_of([one[:, 1:] for one in outputs]))
    for one, other in zip(padded, alone, strict=True):
        torch.testing.assert_close(one[:, 1:], other)


@each
def test_a_row_that_may_look_nowhere_stays_finite(name):
    mask = torch.ones(B, T, T).bool().tril()
    mask[:, 0] = False
    for part in made(name)(HIDDEN, views_of(randoms(3)), Past(mask, lambda one, two: (one, two))):
        assert part.isfinite().all()


@each
def test_answers_of_zero_have_a_finite_gradient(name):
    """The slope of a root at 0 is infinite; a source that says nothing must not stop training."""
    for silent in range(3):
        outputs = randoms(3)
        outputs[silent] = torch.zeros(B, T, D)
        for output in outputs:
            output.requires_grad_()
        sum(made(name)(HIDDEN, views_of(outputs))).square().sum().backward()
        assert all(output.grad.isfinite().all() for output in outputs)


@each
@pytest.mark.parametrize("heads", [0, -1, 4, 1.5, "2", True])
def test_heads_must_divide_the_width(name, heads):
    with pytest.raises(UserError, match="heads"):
        Fusion.build(name, dim=D, sources=3, heads=heads)


@pytest.mark.parametrize(("dim", "heads"), [(768, 12), (1024, 16), (1280, 20), (128, 2), (32, 1)])
def test_published_heads_are_gpt2s(dim, heads):
    assert Fusion.build("attention-published", dim=dim, sources=3).heads == heads


def test_the_published_projection_starts_at_one_over_the_width():
    changed = made("attention-published")
    changed.initialise()
    for fusion in (changed, Fusion.build("attention-published", dim=D, sources=3)):
        torch.testing.assert_close(fusion.project.weight, torch.full((D, D), 1 / D))
        assert not fusion.project.bias.any()
