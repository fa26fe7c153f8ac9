"""The random control: noise in training, its mean at evaluation."""

import torch

from personae.fusion import Fusion
from tests.fusion.answers import D, randoms, views_of


def made() -> Fusion:
    return Fusion.build("random", dim=D, sources=2)


def test_in_training_every_entry_has_its_own_uniform_weight() -> None:
    torch.manual_seed(0)
    ones = [torch.ones(8, 16, D), 2 * torch.ones(8, 16, D)]
    for found, scale in zip(made().train()(ones[0], views_of(ones)), (1, 2), strict=True):
        weights = found / scale
        assert weights.min() >= 0
        assert weights.max() < 1
        assert abs(weights.mean().item() - 0.5) < 0.05
        assert abs(weights.var().item() - 1 / 12) < 0.02
        assert weights.unique().numel() > 0.99 * weights.numel()


def test_weights_are_drawn_at_every_call_and_the_seed_decides() -> None:
    outputs, fusion = randoms(2), made().train()
    draws = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        draws.append(fusion(outputs[0], views_of(outputs))[0])
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert not torch.equal(fusion(outputs[0], views_of(outputs))[0], fusion(outputs[0], views_of(outputs))[0])


def test_at_evaluation_every_weight_is_the_mean() -> None:
    outputs = randoms(2)
    before = torch.get_rng_state()
    for found, output in zip(made().eval()(outputs[0], views_of(outputs)), outputs, strict=True):
        torch.testing.assert_close(found, output / 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_it_has_no_parameters() -> None:
    assert list(made().parameters()) == []
