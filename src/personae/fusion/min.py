"""Minimum pooling of the sources' answers (Cao et al. 2020, "min")."""

from torch import Tensor

from personae.fusion.base import Fusion
from personae.fusion.max import Maximum


@Fusion.register("min")
class Minimum(Maximum):
    """The elementwise minimum of the sources' answers (Cao et al. 2020).

    Contribution of view i: o_i where it is the smallest, else 0; of equal ones the first view's.
    """

    def winner(self, outputs: Tensor) -> Tensor:
        """(B, T, D) number of the winning view, given (N, B, T, D)."""
        return outputs.argmin(0)
