"""Views that answer what a test gives them, and a past that is kept as a cache keeps it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Past, View

B, T, D = 2, 4, 6


def randoms(count: int, seed: int = 0, dim: int = D) -> list[Tensor]:
    """Answers (B, T, D)."""
    return list(torch.randn(count, B, T, dim, generator=torch.Generator().manual_seed(seed)))


def views_of(outputs: Sequence[Tensor]) -> list[View]:
    """A view with each of these answers and nothing else, as self-attention's view is."""
    empty = outputs[0][:, :0]
    return [View(empty, empty[..., 0].bool(), one, lambda _, one=one: one) for one in outputs]


class KeptPast:
    """What a cache does for a fusion: it appends what each step adds."""

    def __init__(self) -> None:
        self.kept: list[tuple[Tensor, Tensor]] = []

    def step(self, mask: Tensor) -> Past:
        """The past of one step, (B, T, P) mask."""
        return Past(mask, self.extend)

    def extend(self, one: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
        self.kept.append((one, two))
        first, second = (torch.cat(parts, dim=2) for parts in zip(*self.kept, strict=True))
        return first, second
