"""Whether two parameter matrices look in different directions: cosines of their columns."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from personae.errors import UserError


@dataclass(frozen=True)
class Columns:
    """``cosines`` (M, K) of the columns of one matrix (D, M) with those of another (D, K)."""

    cosines: Tensor

    @property
    def mean(self) -> float:
        """Mean of |cos|: 0 where every pair is orthogonal, 1 where all are parallel."""
        return float(self.cosines.abs().mean())

    @property
    def largest(self) -> float:
        """The largest |cos|."""
        return float(self.cosines.abs().max())


def compare_columns(one: Tensor, other: Tensor) -> Columns:
    """Cosines between the columns of two matrices of equally many rows; a column of zeros has cosine 0.

    For two factors that are meant to be orthogonal, such as those that context and topic generate weights with.
    """
    if one.dim() != 2 or other.dim() != 2 or one.shape[0] != other.shape[0]:
        raise UserError(
            f"columns of {tuple(one.shape)} and {tuple(other.shape)}: give two matrices of equally many rows"
        )
    with torch.no_grad():
        return Columns(F.normalize(one.detach().double(), dim=0).T @ F.normalize(other.detach().double(), dim=0))
