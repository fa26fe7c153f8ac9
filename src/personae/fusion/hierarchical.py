"""Hierarchical combination of sources (Libovicky and Helcl 2017, Eq. 8 to 10; Libovicky et al. 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.fusion.base import Fusion, View


@Fusion.register("hierarchical")
class Hierarchical(Fusion):
    """A second attention, over the sources' answers, says how much each of them counts at every position.

    e_i = v . tanh(W h + U_i o_i), beta = softmax over sources of e (Libovicky and Helcl 2017, Eq. 8 to 10,
    without their sentinel). Contribution of source i: beta_i U'_i o_i. No biases.
    """

    least = 2  # over one source the softmax is 1
    outputs_only = True

    def __init__(self, dim: int, sources: int) -> None:
        super().__init__(dim, sources)
        self.state, self.energy = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 1, bias=False)
        self.compare = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(sources))
        self.project = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(sources))

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return every source's weighted, projected answer, (B, T, D)."""
        shares = self.shares(hidden, [view.output for view in views])
        parts = zip(shares, self.project, views, strict=True)
        return tuple(share * project(view.output) for share, project, view in parts)

    def shares(self, hidden: Tensor, outputs: Sequence[Tensor]) -> Tensor:
        """Beta (N, B, T, 1) for a state (B, T, D) and answers, each (B, T, D)."""
        state = self.state(hidden)
        compared = [compare(output) for compare, output in zip(self.compare, outputs, strict=True)]
        return torch.stack([self.energy(torch.tanh(state + one)) for one in compared]).softmax(0)
