"""Source-level weighting (Cao et al. 2020, "sw"): one learned scalar per source, normalised by their sum."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from personae.fusion.base import Fusion, View


@Fusion.register("source-weight")
class SourceWeight(Fusion):
    """The sources' answers, weighted by a learned scalar each and divided by the sum of the weights.

    Cao et al. 2020, "sw". Contribution of view i: w_i o_i / sum_j w_j. Every w_i starts at 1 / N, which is the
    mean. As in the paper nothing keeps the weights positive: should their sum come near 0, the answers blow up.
    """

    least = 2  # a lone weight cancels
    outputs_only = True
    weighs_by = "what the answer is multiplied with, mean over dimensions"
    per_dimension: ClassVar[bool] = False

    def __init__(self, dim: int, sources: int) -> None:
        super().__init__(dim, sources)
        self.weight = nn.Parameter(torch.empty(sources, dim if self.per_dimension else 1))
        self.initialise()

    def initialise(self) -> None:
        """Start every weight at 1 / N."""
        nn.init.constant_(self.weight, 1 / len(self.weight))

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return every view's weighted answer, (B, T, D)."""
        return tuple(share * view.output for share, view in zip(self.shares(), views, strict=True))

    def shares(self) -> Tensor:
        """What each view's answer is multiplied with, (N, 1) or (N, D)."""
        return self.weight / self.weight.sum(0)

    def source_weights(self) -> Tensor:
        """(N,) the mean over dimensions of ``shares``."""
        return self.shares().mean(-1)
