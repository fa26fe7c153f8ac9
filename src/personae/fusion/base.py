"""Fusion: one contribution per source, which the block adds up.

Shapes: B batch, T reply, S source, D width, N sources.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from torch import Tensor, nn

from personae.errors import UserError
from personae.registry import Registrable


@dataclass(frozen=True)
class View:
    """What one decoder layer sees of one source.

    states: (B, S, D_source) encoder output; mask: (B, S), True on real tokens; query: (B, T, D) normalised
    decoder state that the source is asked with; attend: cross-attention over ``states`` for a given
    (B, T, D) query, its keys and values computed once per reply.
    """

    states: Tensor
    mask: Tensor
    query: Tensor
    attend: Callable[[Tensor], Tensor]

    @cached_property
    def output(self) -> Tensor:
        """(B, T, D) the source's answer to the layer's own query."""
        return self.attend(self.query)

    @property
    def length(self) -> Tensor:
        """(B,) number of real tokens."""
        return self.mask.sum(-1)


class Fusion(nn.Module, Registrable, ABC):
    """Combines what the sources answer.

    ``arity`` is the number of sources it needs (None: any). ``uses_attention`` False: the block builds no
    cross-attention for it. ``stepwise`` False: position t needs earlier positions of its own input, so a
    plain key/value cache does not serve it.
    """

    arity: ClassVar[int | None] = None
    uses_attention: ClassVar[bool] = True
    stepwise: ClassVar[bool] = True

    def __init__(self, dim: int, sources: int) -> None:
        super().__init__()
        if self.arity not in (None, sources):
            raise UserError(f"fusion '{self.name}' needs {self.arity} sources, the recipe has {sources}")
        self.dim = dim

    @abstractmethod
    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return one (B, T, D) contribution per view, given ``hidden`` (B, T, D), the residual stream."""

    def initialise(self) -> None:
        """Set parameters that need another start than N(0, 0.02) weights and zero biases."""
