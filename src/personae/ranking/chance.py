"""The ranker that knows nothing."""

from collections.abc import Sequence

from personae.ranking.base import Question, Ranker


@Ranker.register("chance")
class Chance(Ranker):
    """Every candidate is as good as any other."""

    floor = True

    def scores(self, questions: Sequence[Question]) -> list[Sequence[float]]:
        """Equal scores."""
        return [[0.0] * len(question.candidates) for question in questions]
