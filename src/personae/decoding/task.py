"""What a beam search gets and gives; it knows no model.

Shapes: B batch, K beams, R = B * K rows with the beams of an example side by side, V vocabulary, E end tokens,
n tokens of a reply so far.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor], Tensor]
Halt = Callable[[Tensor], Tensor]
Length = TypeVar("Length", float, Tensor)


@dataclass(frozen=True)
class Task:
    """One search over B examples.

    ``step(ids, parents)`` gives the log-probabilities (R, V) of the token after ``ids`` (R, n), the replies so far
    without their prompt; row r goes on from row ``parents[r]`` of the call before. ``most`` tokens at most; ``eos``
    (E,) are the tokens that end a reply, and ``halt(ids)`` tells of (rows, n) ids, equally many for each example,
    what else does (rows,). ``pad`` fills up what has ended. ``keep``: replies wanted of each example, K or fewer.
    """

    step: Step
    batch: int
    beams: int
    most: int
    eos: Tensor
    pad: int
    keep: int = 1
    halt: Halt | None = None

    def rows(self, parents: Tensor) -> Tensor:
        """Beams (B, K), counted within their example, as rows (R,)."""
        first = torch.arange(self.batch, device=parents.device)[:, None] * self.beams
        return (parents + first).flatten()

    def ends(self, ids: Tensor) -> Tensor:
        """(B, C) True where the last token of a candidate (B, C, n) ends it."""
        ended = torch.isin(ids[..., -1], self.eos)
        return ended if self.halt is None else ended | self.halt(ids.flatten(0, 1)).view_as(ended)


@dataclass(frozen=True)
class Found:
    """What a search gives, the best first: ids (B, keep, n), padded after ``lengths`` (B, keep), and scores (B, keep).

    Where there are fewer replies than asked for, the last have length 0 and score -inf.
    """

    ids: Tensor
    lengths: Tensor
    scores: Tensor


def penalty(length: Length, alpha: float) -> Length:
    """((5 + length) / 6) ** alpha, what a reply's log-probability is divided by (Wu et al. 2016, Eq. 14)."""
    divisor: Length = ((5 + length) / 6) ** alpha
    return divisor


def pick(each: Tensor, which: Tensor) -> Tensor:
    """From (B, K, ...) those beams (B, C) that ``which`` names."""
    places = which.view(*which.shape, *[1] * (each.dim() - 2))
    return each.take_along_dim(places, dim=1)


def extend(ids: Tensor, parents: Tensor, tokens: Tensor) -> Tensor:
    """(B, C, n + 1): the beams (B, K, n) that ``parents`` (B, C) name, each with its token (B, C)."""
    return torch.cat([pick(ids, parents), tokens[..., None]], dim=-1)
