"""Parameterisation: where the weights of an LSTM come from, step by step and example by example.

Shapes: D directions (1 or 2, stacked, so that one product serves both), T time, B batch, I input, H hidden,
Z context vector zeta, A xi, K topics, F factors.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

from torch import Tensor, nn

from personae.errors import UserError
from personae.registry import Registrable

# h (D, B, H) and c (D, B, H); where there is a Phi (xi_t = Phi(zeta, h_{t-1})), its own two (D, B, A) behind them.
State = tuple[Tensor, ...]
# The state after step t, from the number of the step and the state before it.
Step = Callable[[int, State], State]


@dataclass(frozen=True)
class Sizes:
    """Numbers that a parameterisation is made of.

    inputs: I; hidden: H; directions: D; context: Z, width of zeta; xi: A, width of xi and rank of U diag(xi) V^T;
    topics: K; factors: F, rank of the topic matrix as published; squeeze: inner width of what scales rows or
    generates matrices from xi.
    """

    inputs: int
    hidden: int
    directions: int = 1
    context: int = 1
    xi: int = 128
    topics: int = 5
    factors: int = 128
    squeeze: int = 32

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 1:
                raise UserError(f"an adaptive LSTM's {each.name} is at least 1, not {getattr(self, each.name)}")


@dataclass(frozen=True)
class Given:
    """What the weights adapt to: zeta (B, Z), a vector of the context; theta (B, K), shares of topics."""

    zeta: Tensor | None = None
    theta: Tensor | None = None

    def of(self, name: str) -> Tensor:
        """``zeta`` or ``theta``, which has to be there."""
        found: Tensor | None = getattr(self, name)
        if found is None:
            raise UserError(f"this parameterisation adapts to {name}: give it")
        return found


class Parameterisation(nn.Module, Registrable, ABC):
    """How an LSTM layer's gates come about. Every parameter holds all directions: its first dimension is D.

    ``reads``: what it adapts to, a choice of ``zeta`` and ``theta``; ``uses``: which of ``xi``, ``factors`` and
    ``squeeze`` of its sizes it has. ``dropout`` is on the candidate tanh(g), with a
    fresh mask at every step.
    """

    reads: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__()
        self.sizes, self.dropout = sizes, dropout

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of the tensors of a state."""
        return (self.sizes.hidden, self.sizes.hidden)

    def start(self, inputs: Tensor) -> State:
        """The zero state for inputs (D, T, B, I)."""
        return tuple(inputs.new_zeros(inputs.shape[0], inputs.shape[2], width) for width in self.widths)

    @abstractmethod
    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """Compute for inputs (D, T, B, I) all that does not depend on h, for all steps at once; return the step."""

    @abstractmethod
    def initialise(self) -> None:
        """Start all parameters."""
