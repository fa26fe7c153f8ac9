"""Random weights: the control of the published PAA code for what gates learn."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Fusion, View


@Fusion.register("random")
class RandomWeights(Fusion):
    """A control: every answer times uniform noise, which no gate has learnt (published code of Huang et al. 2023).

    Contribution of source i: u_i o_i, u_i (B, T, D) uniform in [0, 1), drawn at every call in training; at
    evaluation its mean, o_i / 2, so that scores and cached replies are deterministic. The published code draws at
    evaluation too. No parameters; any number of sources.
    """

    outputs_only = True

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return (u_1 o_1, ..., u_N o_N), each (B, T, D)."""
        return tuple(view.output * (torch.rand_like(view.output) if self.training else 0.5) for view in views)
