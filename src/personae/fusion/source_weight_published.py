"""Source-level weighting as the published code of Cao et al. (2020) computes it, "sw"."""

from torch import Tensor

from personae.fusion.base import Fusion
from personae.fusion.source_weight import SourceWeight


@Fusion.register("source-weight-published")
class PublishedSourceWeight(SourceWeight):
    """The mean of the answers, each times a learned scalar: the published code, which does not normalise.

    Contribution of view i: w_i o_i / N. Every w_i starts at 1 / N, so of three views the sum starts at a third
    of their mean.
    """

    def shares(self) -> Tensor:
        """What each view's answer is multiplied with, (N, 1) or (N, D)."""
        return self.weight / len(self.weight)
