"""Minimum pooling of the sources' answers (Cao et al. 2020, "min")."""

from torch import Tensor

from personae.fusion.base import Fusion
from personae.fusion.max import Maximum


@Fusion.register("min")
class Minimum(Maximum):
    """The elementwise minimum of the sources' answers (Cao et al. 2020).

    Contribution of view i: o_i where it is the smallest, else 0; of equal ones the first view's.
    """

    def better(self, output: Tensor, best: Tensor) -> Tensor:
        """Where an answer (B, T, D) beats the best so far."""
        return output < best
