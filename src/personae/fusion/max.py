"""Maximum pooling of the sources' answers (Cao et al. 2020, "max")."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Fusion, View


@Fusion.register("max")
class Maximum(Fusion):
    """The elementwise maximum of the sources' answers (Cao et al. 2020).

    Contribution of view i: o_i where it is the largest, else 0; of equal ones the first view's. So they sum to
    the maximum exactly, and gradient reaches the winner only. No parameters; any number of views.
    """

    outputs_only = True

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return each view's part of the maximum, (B, T, D)."""
        outputs = [view.output for view in views]
        winner = self.winner(torch.stack(outputs))
        return tuple(output.masked_fill(winner != at, 0) for at, output in enumerate(outputs))

    def winner(self, outputs: Tensor) -> Tensor:
        """(B, T, D) number of the winning view, given (N, B, T, D)."""
        return outputs.argmax(0)
