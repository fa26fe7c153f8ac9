"""DirectSUM (Huang et al. 2023, Table 4): the sources' answers are added as they are."""

from collections.abc import Sequence

from torch import Tensor

from personae.fusion.base import Fusion, View


@Fusion.register("sum")
class DirectSum(Fusion):
    """DirectSUM: every source's answer, unweighted (Huang et al. 2023, Table 4).

    Contribution of source i: o_i, its cross-attention output. No parameters; any number of sources.
    """

    outputs_only = True

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return (o_1, ..., o_N), each (B, T, D)."""
        return tuple(view.output for view in views)
