"""Where the gold reply stands among candidates; candidates of equal score stand in every order at once.

Symbols: a wrong candidates above the best right one, b wrong and c right ones of its score.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from personae.errors import UserError
from personae.metrics.base import Metric, Reply
from personae.metrics.bootstrap import Floats
from personae.metrics.reply import Ranking
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed


class Ranked(Summed):
    """The mean of a value of each ranking in %, ties as their expectation: a scorer that knows nothing gets chance."""

    needs_references: ClassVar[bool] = False
    width: ClassVar[int] = 3

    @abstractmethod
    def worth(self, above: int, wrong: int, right: int) -> float:
        """What a ranking with these numbers a, b and c is worth, in [0, 1]."""

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether candidates were ranked for every reply."""
        return all(reply.ranking is not None for reply in replies)

    def statistics(self, chunk: Chunk) -> list[tuple[float, float, int]]:
        """Worth, 1 and number of candidates of each reply."""
        rankings = [ranking_of(self.name, at, reply) for at, reply in enumerate(chunk.replies, chunk.start)]
        return [
            (100 * self.worth(*standing(ranking)), 1.0, len(ranking.right) + len(ranking.wrong)) for ranking in rankings
        ]

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How many candidates a reply has on average, and how ties are counted."""
        return {"candidates": f"{sums[2] / sums[1]:g}", "ties": "expected", "norm": "parlai"}


def ranking_of(name: str, number: int, reply: Reply) -> Ranking:
    """The ranking of a reply, or a ``UserError`` that says what lacks."""
    ranking = reply.ranking
    if ranking is None or not ranking.right:
        raise UserError(f"{name} needs ranked candidates, but reply {number} has none: evaluate with --candidates")
    if not all(map(math.isfinite, (*ranking.right, *ranking.wrong))):
        raise UserError(
            f"{name} needs finite scores, but a candidate of reply {number} has none: check the model's weights"
        )
    return ranking


def standing(ranking: Ranking) -> tuple[int, int, int]:
    """a, b and c of a ranking."""
    best = max(ranking.right)
    above = sum(score > best for score in ranking.wrong)
    return above, ranking.wrong.count(best), ranking.right.count(best)


def hit(first: int, above: int, wrong: int, right: int) -> float:
    """The probability that a right candidate is among the first ``first``, equal scores in random order."""
    places = min(first - above, wrong + right)
    if places <= 0:
        return 0.0
    return float(1 - Fraction(math.comb(wrong, places), math.comb(wrong + right, places)))


class Hits(Ranked):
    """Share of replies whose gold one is among the first candidates."""

    first: ClassVar[int]

    def worth(self, above: int, wrong: int, right: int) -> float:
        """See ``Ranked.worth``."""
        return hit(self.first, above, wrong, right)


@Metric.register("hits1")
class HitsAt1(Hits):
    """Share of gold replies ranked first among the candidates in %; of 20, chance gets 5."""

    first = 1


@Metric.register("hits5")
class HitsAt5(Hits):
    """Share of gold replies ranked among the first 5 candidates in %; of 20, chance gets 25."""

    first = 5


@Metric.register("hits10")
class HitsAt10(Hits):
    """Share of gold replies ranked among the first 10 candidates in %; of 20, chance gets 50."""

    first = 10


@Metric.register("mrr")
class MeanReciprocalRank(Ranked):
    """Mean of 1 / the gold reply's rank among the candidates, times 100; of 20, chance gets 17.99."""

    def worth(self, above: int, wrong: int, right: int) -> float:
        """See ``Ranked.worth``: each of the tied places with the probability that the first right one takes it."""
        within = [hit(place, 0, wrong, right) for place in range(wrong + 2)]
        return sum((within[at] - within[at - 1]) / (above + at) for at in range(1, wrong + 2))
