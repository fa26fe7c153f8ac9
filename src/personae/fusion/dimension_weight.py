"""Dimension-level weighting (Cao et al. 2020, "dw"): one learned vector per source, normalised by their sum."""

from personae.fusion.base import Fusion
from personae.fusion.source_weight import SourceWeight


@Fusion.register("dimension-weight")
class DimensionWeight(SourceWeight):
    """The sources' answers, weighted per dimension and divided by the sum of the weights there.

    Cao et al. 2020, "dw". Contribution of view i: w_i o_i / sum_j w_j, elementwise, w_i of shape (D,). Every
    entry starts at 1 / N. As in the paper nothing keeps a dimension's sum away from 0.
    """

    per_dimension = True
