"""PARAM (Huang et al. 2023, Table 4): a linear layer over the concatenated answers, told apart by source."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.fusion.base import Fusion, View, by_part


@Fusion.register("param")
class LearntSum(Fusion):
    """PARAM: one linear layer over the concatenated answers (Huang et al. 2023, Table 4); no gate, no mask.

    FC([o_1; ...; o_N]) = sum_i W_i o_i + b. Contribution of source i: W_i o_i + b / N, W_i the columns of FC that
    read o_i; the bias belongs to no source and is split evenly.
    """

    outputs_only = True
    weighs_by = "norm of the block of the weight matrix that reads the answer"

    def __init__(self, dim: int, sources: int) -> None:
        super().__init__(dim, sources)
        self.linear = nn.Linear(sources * dim, dim)

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return (W_1 o_1 + b / N, ..., W_N o_N + b / N), each (B, T, D)."""
        return by_part(self.linear, [view.output for view in views])

    def source_weights(self) -> Tensor:
        """(N,) the Frobenius norms of W_1 to W_N."""
        return torch.stack(
            [block.norm() for block in self.linear.weight.chunk(self.linear.in_features // self.dim, dim=1)]
        )
