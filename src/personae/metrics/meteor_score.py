"""METEOR of counts that add up over replies (Denkowski and Lavie 2014).

Shapes: R sums. The 23 counts, in the order in which the METEOR 1.5 program prints them: words of the reply and of the
reference; function words of both; for each of the stages exact, stem, synonym and paraphrase the matched content words
of reply and reference and the matched function words of both; chunks; matched words of reply and reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from personae.metrics.bootstrap import Floats

WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])


@dataclass(frozen=True)
class MeteorSums:
    """METEOR's formula with the parameters for English; ``delta`` is the weight of content against function words.

    P and R: weighted matches / weighted words; F = P R / (alpha P + (1 - alpha) R); the score is
    F (1 - gamma (chunks / matches)^beta).
    """

    alpha: float = 0.85
    beta: float = 0.2
    gamma: float = 0.6
    delta: float = 0.75
    width = 23

    def score(self, sums: Floats) -> Floats:
        """METEOR (R,) of sums (R, 23); 0 where nothing matches."""
        stages = sums[:, 4:20].reshape(-1, 4, 4)
        precision, recall = (self._share(sums, stages, side) for side in (0, 1))
        chunks, matched = sums[:, 20], sums[:, 21:23]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
            scores = mean * (1 - self.gamma * (chunks / matched.mean(axis=1)) ** self.beta)
        return np.where(np.isfinite(scores), scores, 0.0)

    def fields(self) -> Mapping[str, object]:
        """The parameters, for the signature."""
        return {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma, "delta": self.delta}

    def _share(self, sums: Floats, stages: Floats, side: int) -> Floats:
        """Weighted share (R,) of the words of reply (0) or reference (1) that are matched."""
        content, function = (stages[:, :, column + side] @ WEIGHTS for column in (0, 2))
        others = sums[:, 2 + side]
        words = self.delta * (sums[:, side] - others) + (1 - self.delta) * others
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.delta * content + (1 - self.delta) * function) / words)


def without_whole(counts: Floats) -> Floats:
    """Counts (N, 23) of single pairs with no chunk where both texts are one whole: it is in no disorder."""
    whole = (counts[:, 21:23] == counts[:, :2]).all(axis=1) & (counts[:, 20] == 1)
    counts[whole, 20] = 0
    return counts
