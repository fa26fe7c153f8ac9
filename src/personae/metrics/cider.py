"""CIDEr as the COCO caption tools compute it (their CIDEr-D; Vedantam et al. 2015).

Shapes: N replies of a chunk, T references of them.
"""

from collections.abc import Mapping

import numpy as np

from personae.metrics.base import Metric
from personae.metrics.bootstrap import Floats
from personae.metrics.grams import Counts, Grams, Texts, looked_up, paired
from personae.metrics.sample import Rows
from personae.metrics.twice import Heard, Twice, Weights

ORDERS = (1, 2, 3, 4)
SIGMA = 6.0


class Spread(Weights):
    """In the references of how many replies each n-gram occurs."""

    def __init__(self) -> None:
        self.replies, self._counts = 0, {order: Counts() for order in ORDERS}

    def learn(self, heard: Heard) -> None:
        """Count each n-gram once for each reply that has it in any reference."""
        self.replies += len(heard.rows)
        for order, counts in self._counts.items():
            counts.add(grams(heard.golds, order, heard.replies).keys)

    def weigh(self, found: Grams, order: int) -> Floats:
        """Counts of n-grams times ln(replies / replies that have them)."""
        spread = np.maximum(1, self._counts[order].of(found.keys))
        return np.asarray(found.counts * (np.log(self.replies) - np.log(spread)))


@Metric.register("cider")
class Cider(Twice[Spread]):
    """CIDEr of the COCO caption tools, 0 to 10, blank-separated words, mean over references and replies.

    For n = 1 to 4, the cosine of tf-idf vectors of n-grams, the reply's entries clipped by the reference's, times
    exp(-(difference in length)^2 / 72); the mean over n, references and replies, times 10. Document frequencies are
    those of the references scored (0 with a single reply); lengths are counted in word pairs, as in the tool.
    """

    default = False
    cut = staticmethod(str.split)

    def weights(self) -> Spread:
        """Nothing known."""
        return Spread()

    def weighed(self, heard: Heard, weights: Spread) -> Floats:
        """CIDEr and 1 of each reply (N, 2)."""
        said, golds = (np.maximum(0, texts.lengths - 1) for texts in (heard.said, heard.golds))
        near = np.exp(-((said[heard.replies] - golds) ** 2) / (2 * SIGMA**2))
        alike = sum(similarity(heard, weights, order) for order in ORDERS) / len(ORDERS)
        size = len(heard.rows)
        scores = np.bincount(heard.replies, alike * near, size) / np.bincount(heard.replies, minlength=size)
        return np.stack([10 * scores, np.ones(size)], axis=1)

    def fields(self, sums: Floats) -> Mapping[str, object]:
        """How words are cut and n-grams weighed."""
        return {"tok": "blank", "idf": "references", "sigma": f"{SIGMA:g}", "refs": "mean", "avg": "reply"}


def grams(texts: Texts, order: int, owners: Rows | None = None) -> Grams:
    """N-grams by text, or by ``owners`` (T,) of the texts."""
    starts = texts.starts(order)
    which = texts.owners(starts)
    return Grams(texts.keys(starts, order), which if owners is None else owners[which])


def similarity(heard: Heard, weights: Spread, order: int) -> Floats:
    """Clipped cosine (T,) of each reference with its reply; 0 where either vector is."""
    said, golds = grams(heard.said, order), grams(heard.golds, order)
    own, other = weights.weigh(said, order), weights.weigh(golds, order)
    shared = looked_up(paired(golds.keys, heard.replies[golds.owners]), said.pairs, own)
    product = np.bincount(golds.owners, np.minimum(shared, other) * other, len(heard.golds.lengths))
    norms = norm(said, own, len(heard.said.lengths))[heard.replies] * norm(golds, other, len(heard.golds.lengths))
    return np.divide(product, norms, out=np.zeros(len(product)), where=norms > 0)


def norm(found: Grams, weights: Floats, size: int) -> Floats:
    """Euclidean norms of the ``size`` owners' vectors."""
    return np.asarray(np.sqrt(np.bincount(found.owners, weights**2, size)))
