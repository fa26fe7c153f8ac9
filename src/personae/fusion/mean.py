"""Average pooling of the sources' answers (Cao et al. 2020, "mean")."""

from collections.abc import Sequence

from torch import Tensor

from personae.fusion.base import Fusion, View


@Fusion.register("mean")
class Mean(Fusion):
    """The mean of the sources' answers (Cao et al. 2020; Golovanov et al. 2019).

    Contribution of view i: o_i / N. No parameters; any number of views.
    """

    outputs_only = True

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return (o_1 / N, ..., o_N / N), each (B, T, D)."""
        return tuple(view.output / len(views) for view in views)
