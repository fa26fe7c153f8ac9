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
        return tuple(output.masked_fill(~won, 0) for output, won in zip(outputs, self.winners(outputs), strict=True))

    @torch.no_grad()
    def winners(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """For each view, (B, T, D) True where it wins; one comparison each, as argmax over views is slow."""
        best, won = outputs[0], [torch.ones_like(outputs[0], dtype=torch.bool)]
        for output in outputs[1:]:
            better = self.better(output, best)
            won = [each & ~better for each in won] + [better]
            best = torch.where(better, output, best)
        return won

    def better(self, output: Tensor, best: Tensor) -> Tensor:
        """Where an answer (B, T, D) beats the best so far."""
        return output > best
