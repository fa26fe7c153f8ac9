"""Hits@k and reciprocal rank: ties are every order at once, however the candidates stand."""

import itertools
import random

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Ranking, Reply

K = {"hits1": 1, "hits5": 5, "hits10": 10}


def value(name: str, *rankings: Ranking) -> float:
    return Metric.build(name).measure([Reply("", (), str(at), ranking=one) for at, one in enumerate(rankings)]).value


def by_hand(name: str, ranking: Ranking) -> float:
    """The mean over every order in which equal scores can stand, one by one."""
    marked = [(score, True) for score in ranking.right] + [(score, False) for score in ranking.wrong]
    worths = []
    for order in itertools.permutations(marked):
        ranked = sorted(order, key=lambda one: -one[0])  # stable: of equal scores the first stays first
        rank = 1 + next(at for at, (_, right) in enumerate(ranked) if right)
        worths.append(1 / rank if name == "mrr" else float(rank <= K[name]))
    return 100 * sum(worths) / len(worths)


@pytest.mark.parametrize("name", [*K, "mrr"])
def test_it_is_the_mean_over_all_orders_of_equal_scores(name: str) -> None:
    draw = random.Random(3)
    for _ in range(30):
        right, wrong = ([draw.randrange(3) for _ in range(draw.randint(1, most))] for most in (2, 5))
        ranking = Ranking(tuple(map(float, right)), tuple(map(float, wrong)))
        assert value(name, ranking) == pytest.approx(by_hand(name, ranking))


@pytest.mark.parametrize(("name", "chance"), [("hits1", 5.0), ("hits5", 25.0), ("hits10", 50.0), ("mrr", 17.98869829)])
def test_a_constant_scorer_gets_chance(name: str, chance: float) -> None:
    assert value(name, Ranking((7.0,), (7.0,) * 19)) == pytest.approx(chance)


def test_a_constant_scorer_gets_exactly_five_per_cent() -> None:
    assert value("hits1", *[Ranking((0.0,), (0.0,) * 19)] * 20) == 5.0


def test_better_wrong_candidates_take_the_first_places() -> None:
    ranking = Ranking((1.0,), (2.0, 3.0, 0.0))
    assert [value(name, ranking) for name in ("hits1", "hits5")] == [0, 100]
    assert value("mrr", ranking) == pytest.approx(100 / 3)


def test_of_two_right_ones_the_better_counts() -> None:
    assert value("hits1", Ranking((1.0, 3.0), (2.0,))) == 100
    assert value("hits1", Ranking((2.0, 2.0), (2.0,))) == pytest.approx(200 / 3)


def test_the_signature_says_how_many_candidates_and_what_of_ties() -> None:
    rankings = [Ranking((1.0,), (0.0,) * size) for size in (19, 19)]
    score = Metric.build("hits1").measure([Reply("", (), "c", ranking=one) for one in rankings])
    assert "|candidates:20|ties:expected|" in score.signature


@pytest.mark.parametrize(
    ("ranking", "line"),
    [
        (None, "reply 0 has none: evaluate with --candidates"),
        (Ranking((), (1.0,)), "reply 0 has none"),
        (Ranking((float("nan"),), (1.0,)), "finite scores"),
    ],
)
def test_what_lacks_is_said(ranking: Ranking | None, line: str) -> None:
    with pytest.raises(UserError, match=line):
        Metric.build("hits1").measure([Reply("", (), ranking=ranking)])


def test_it_applies_where_all_were_ranked() -> None:
    ranked, not_ranked = Reply("", (), ranking=Ranking((1.0,), ())), Reply("", ())
    assert Metric.build("hits1").applies([ranked])
    assert not Metric.build("hits1").applies([ranked, not_ranked])
