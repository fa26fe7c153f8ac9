"""Dimension-level weighting as the published code of Cao et al. (2020) computes it, "dw"."""

from personae.fusion.base import Fusion
from personae.fusion.source_weight_published import PublishedSourceWeight


@Fusion.register("dimension-weight-published")
class PublishedDimensionWeight(PublishedSourceWeight):
    """The mean of the answers, each times a learned vector: the published code, which does not normalise.

    Contribution of view i: w_i o_i / N, elementwise, w_i of shape (D,). Every entry starts at 1 / N.
    """

    per_dimension = True
