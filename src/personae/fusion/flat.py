"""Flat combination of sources (Libovicky, Helcl and Marecek 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Fusion, View


@Fusion.register("flat")
class Flat(Fusion):
    """One softmax over the positions of all sources (Libovicky et al. 2018; Libovicky and Helcl 2017).

    Per head, source i alone answers a_i with the softmax denominator z_i; over all positions its share is
    beta_i = z_i / sum_j z_j. Contribution of source i: C_i (beta_i a_i) + c_i with its own output projection;
    the bias c_i comes whole. Keys and values are each source's own. No further parameters.
    """

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return every source's part of the common attention, (B, T, D)."""
        answers, totals = zip(*(view.heads(view.query) for view in views), strict=True)
        shares = torch.stack(totals).softmax(0)[..., None]  # (N, B, T, H, 1)
        parts = zip(views, shares, answers, strict=True)
        return tuple(view.project(share.to(answer.dtype) * answer) for view, share, answer in parts)
