"""PARAM (Huang et al. 2023, Table 4): a linear layer over the concatenated answers, told apart by source."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from personae.fusion.base import Fusion, View


def by_part(linear: Any, parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """``linear([x_1; ...; x_N])`` as N summands W_i x_i + b / N, for x_i (B, T, D) or (B, 1, D).

    ``linear`` is an ``nn.Linear`` of N D inputs, W_i the columns that read x_i, or its packed form.
    """
    bias = linear.bias / len(parts)
    if hasattr(linear, "weight"):
        weights = linear.weight.chunk(len(parts), dim=1)
        return tuple(F.linear(part, weight, bias) for part, weight in zip(parts, weights, strict=True))
    # A packed layer cannot be cut: each part is multiplied with zeros beside it.
    rows = [[part if at == of else torch.zeros_like(part) for at in range(len(parts))] for of, part in enumerate(parts)]
    return tuple(linear(torch.cat(row, dim=-1)) - linear.bias + bias for row in rows)


@Fusion.register("param")
class LearntSum(Fusion):
    """PARAM: one linear layer over the concatenated answers (Huang et al. 2023, Table 4); no gate, no mask.

    FC([o_1; ...; o_N]) = sum_i W_i o_i + b. Contribution of source i: W_i o_i + b / N, W_i the columns of FC that
    read o_i; the bias belongs to no source and is split evenly.
    """

    outputs_only = True

    def __init__(self, dim: int, sources: int) -> None:
        super().__init__(dim, sources)
        self.linear = nn.Linear(sources * dim, dim)

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return (W_1 o_1 + b / N, ..., W_N o_N + b / N), each (B, T, D)."""
        return by_part(self.linear, [view.output for view in views])
