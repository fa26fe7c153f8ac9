"""Intervals: by conversation, reproducible, and right on cases with a known answer."""

import numpy as np
import pytest

from personae.metrics.bootstrap import bootstrap, bootstrap_ratio, group_sums, jackknife_interval, ratio


def widths(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


def test_groups_are_summed_in_sorted_order() -> None:
    sums = group_sums([[1, 10], [2, 20], [3, 30]], ["b", "a", "b"])
    np.testing.assert_array_equal(sums, [[2, 20], [4, 40]])


def test_a_mean_has_the_normal_half_width() -> None:
    values = np.random.default_rng(1).normal(5, 2, 2000)
    interval = bootstrap_ratio(values, np.ones(2000), [str(i) for i in range(2000)])
    assert widths(interval) / 2 == pytest.approx(1.96 * values.std() / np.sqrt(2000), rel=0.1)


def test_turns_of_one_conversation_are_not_independent() -> None:
    values = np.repeat(np.random.default_rng(1).normal(size=100), 10)
    by_turn = bootstrap_ratio(values, np.ones(1000), [str(i) for i in range(1000)])
    by_conversation = bootstrap_ratio(values, np.ones(1000), [str(i // 10) for i in range(1000)])
    assert widths(by_conversation) / widths(by_turn) == pytest.approx(np.sqrt(10), rel=0.15)


def test_the_same_seed_gives_the_same_interval() -> None:
    values, ones, groups = [0.0, 1.0, 5.0, 2.0], [1.0] * 4, ["a", "b", "c", "d"]
    first = bootstrap_ratio(values, ones, groups, seed=3)
    assert first == bootstrap_ratio(values, ones, groups, seed=3)
    assert first == bootstrap_ratio(values[::-1], ones, groups[::-1], seed=3)


def test_chunks_do_not_lose_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def count(sums: np.ndarray) -> np.ndarray:
        seen.append(len(sums))
        return ratio(sums)

    monkeypatch.setattr("personae.metrics.bootstrap._DRAWS_AT_ONCE", 35)
    bootstrap(np.ones((10, 2)), [str(i) for i in range(10)], count, resamples=100)
    assert sum(seen) == 100 + 1
    assert max(seen) == 3


def test_one_conversation_has_no_interval() -> None:
    assert bootstrap_ratio([1, 2], [1, 1], ["a", "a"]) is None
    assert jackknife_interval(1.0, [1.0]) is None


def test_equal_replies_give_an_interval_of_no_width_around_the_value() -> None:
    interval = bootstrap_ratio([1 / 3] * 7, [1] * 7, list("abcdefg"))
    assert interval == pytest.approx((1 / 3, 1 / 3), abs=1e-12)


def test_undefined_resamples_are_left_out() -> None:
    interval = bootstrap_ratio([0, 0, 3], [0, 0, 3], ["a", "b", "c"])
    assert interval == (1, 1)
    assert bootstrap_ratio([0, 0], [0, 0], ["a", "b"]) is None


def test_every_reply_needs_a_group() -> None:
    with pytest.raises(ValueError, match="2 rows of statistics but 1 groups"):
        bootstrap_ratio([1, 2], [1, 1], ["a"])


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    left_out = (values.sum() - values) / 3
    low, high = jackknife_interval(values.mean(), left_out) or (0, 0)
    assert (high - low) / 2 == pytest.approx(1.959964 * values.std(ddof=1) / 2)
    assert (high + low) / 2 == pytest.approx(4)
