"""Paired tests and effect sizes, against their formulas."""

import itertools
import math

import numpy as np
import pytest

from personae.metrics.bootstrap import jackknife_interval, ratio
from personae.metrics.paired import TRIALS, holm, jackknife_normal, randomisation, standardised

GAINS = np.array([3.0, 1.0, -1.0, 2.0, 5.0, 0.5, -2.0, 4.0])


def means(values) -> np.ndarray:
    """Statistics (G, 2) of a mean with one value for each conversation."""
    return np.stack([np.asarray(values, float), np.ones(len(values))], axis=1)


def left_out(values) -> np.ndarray:
    values = np.asarray(values, float)
    return (values.sum() - values) / (len(values) - 1)


def test_randomisation_is_the_sign_flip_test_of_all_flips():
    """Every one of the 2^8 ways to flip the signs, counted."""
    sums = [abs(np.dot(signs, GAINS)) for signs in itertools.product((-1, 1), repeat=len(GAINS))]
    exact = np.mean([one >= GAINS.sum() - 1e-9 for one in sums])
    base = np.arange(8.0) * 10
    p = randomisation(means(base + GAINS), means(base), ratio)
    assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / TRIALS))
    assert p == randomisation(means(base), means(base + GAINS), ratio)


def test_randomisation_of_no_difference_is_one():
    assert randomisation(means(GAINS), means(GAINS), ratio) == 1
    assert randomisation(means([1, 0, 1, 0]), means([0, 1, 0, 1]), ratio) == 1


def test_the_least_p_of_many_conversations():
    """All 40 conversations gain: no trial in 10,000 is as far from 0."""
    rows = means(np.arange(40.0))
    assert randomisation(rows + np.array([1.0, 0.0]), rows, ratio) == 1 / (1 + TRIALS)


def test_randomisation_exchanges_denominators_too():
    """One side says twice as much at the same rate: exchanging it changes nothing."""
    rows = np.array([[2.0, 4.0], [1.0, 2.0], [3.0, 6.0]])
    assert randomisation(2 * rows, rows, ratio) == 1


def test_false_alarms_are_as_rare_as_said():
    """Under exchangeability p < 0.1 in a tenth of the cases."""
    draw = np.random.default_rng(5)
    found = [randomisation(means(draw.normal(size=30)), means(draw.normal(size=30)), ratio) for _ in range(200)]
    assert 0.04 < np.mean(np.array(found) < 0.1) < 0.17


@pytest.mark.parametrize("rows", [[1.0], []])
def test_fewer_than_two_conversations_have_no_p(rows):
    assert randomisation(means(rows), means(rows), ratio) is None


def test_an_infinite_metric_has_no_p():
    with np.errstate(invalid="ignore"):
        assert randomisation(means([1, 2]), means([1, 2]), lambda sums: np.full(len(sums), np.inf)) is None


def test_the_effect_of_a_mean_is_cohens_d_z():
    assert standardised(GAINS.mean(), left_out(GAINS)) == pytest.approx(GAINS.mean() / GAINS.std(ddof=1))


def test_an_effect_without_spread():
    assert standardised(0.0, [0.0, 0.0]) == 0
    assert standardised(1.0, [1.0, 1.0]) is None
    assert standardised(1.0, [1.0]) is None
    assert standardised(math.nan, [1.0, 2.0]) is None


def test_the_normal_test_agrees_with_its_interval():
    """A bound of the 95 % interval at 0 is a p of 5 %."""
    without = left_out(GAINS)
    low, high = jackknife_interval(0.0, without)
    assert jackknife_normal(high, without) == pytest.approx(0.05)
    assert jackknife_normal(low / 2, without) > 0.05 > jackknife_normal(2 * low, without)
    assert jackknife_normal(0.0, without) == 1
    assert jackknife_normal(0.0, [0.0, 0.0]) == 1
    assert jackknife_normal(1.0, [1.0, 1.0]) is None


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.4]) == pytest.approx([0.8, 0.8])
    assert holm([0.9, 0.02, 0.9]) == pytest.approx([1.0, 0.06, 1.0])
    assert holm([0.02]) == [0.02]
    assert holm([]) == []
