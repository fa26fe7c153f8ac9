"""What parameterisations are built of. Shapes: see ``base``; gates are four blocks of H rows: i, f, o, g.

One sigmoid for the first three blocks and one tanh for the last; ``torch.nn.LSTM`` has the order i, f, g, o.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import initialization as init

from personae.layers.adaptive.repeated import Repeated

EPSILON = 1e-5


def matrix(directions: int, rows: int, columns: int) -> nn.Parameter:
    """A weight (D, rows, columns), not yet started."""
    return nn.Parameter(torch.empty(directions, rows, columns))


def vector(directions: int, size: int) -> nn.Parameter:
    """A bias (D, size), not yet started."""
    return nn.Parameter(torch.zeros(directions, size))


def multiplied(inputs: Tensor, weight: Tensor) -> Tensor:
    """(D, T, B, O) = inputs (D, T, B, I) times weight (D, O, I) transposed: one product for all steps."""
    directions, time, batch, _ = inputs.shape
    return (inputs.flatten(1, 2) @ weight.mT).view(directions, time, batch, weight.shape[1])


def orthogonal(weight: nn.Parameter, gain: float = 1.0) -> None:
    """Start each direction's matrix with orthonormal rows or columns times ``gain``, unless it was loaded."""
    if not getattr(weight, "_is_hf_initialized", False) and not weight.is_meta:
        for one in weight.data:
            nn.init.orthogonal_(one, gain)


def uniform(weight: nn.Parameter, size: int) -> None:
    """Start as PyTorch starts an LSTM of ``size``: U(-1 / sqrt(size), 1 / sqrt(size))."""
    init.uniform_(weight, -1 / math.sqrt(size), 1 / math.sqrt(size))


class Norm(nn.Module):
    """Layer norm with weight and bias (D, n), one row per direction, over the last dimension of (D, ..., n)."""

    def __init__(self, directions: int, size: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(directions, size)), vector(directions, size)

    def forward(self, states: Tensor) -> Tensor:
        """(D, ..., n) to the same."""
        size = states.shape[-1:]
        if len(self.weight) == 1:
            return F.layer_norm(states, size, self.weight[0], self.bias[0], EPSILON)
        shape = (len(self.weight), *[1] * (states.dim() - 2), *size)
        normed = F.layer_norm(states, size, eps=EPSILON)
        return torch.addcmul(self.bias.view(shape), normed, self.weight.view(shape))

    def initialise(self) -> None:
        """Ones and zeros."""
        init.ones_(self.weight)
        init.zeros_(self.bias)


class Ending(nn.Module):
    """From the sides of the input and of the hidden state to the next state: c' = f c + i g, h' = o tanh(c')."""

    def __init__(self, directions: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.hidden, self.dropout = hidden, dropout

    def before(self, side: Tensor) -> Tensor:
        """What can be done to the input's side (D, ..., 4H) alone."""
        return side

    def gates(self, before: Tensor, side: Tensor) -> Tensor:
        """(D, B, 4H) pre-activations, of the input's side after ``before`` and the hidden state's side."""
        return before + side

    def carried(self, cell: Tensor) -> Tensor:
        """What becomes of c' (D, B, H)."""
        return cell

    def forward(self, before: Tensor, side: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """h' and c' (D, B, H)."""
        gates = self.gates(before, side)
        inner, forget, out = gates[..., : -self.hidden].sigmoid().chunk(3, dim=-1)
        candidate = F.dropout(gates[..., -self.hidden :].tanh(), self.dropout, self.training)
        cell = self.carried(torch.addcmul(inner * candidate, forget, cell))
        return out * cell.tanh(), cell

    def initialise(self) -> None:
        """Start what it has."""


class BiasEnding(Ending):
    """Both sides are added up with a bias each, as in ``torch.nn.LSTM``."""

    def __init__(self, directions: int, hidden: int, dropout: float) -> None:
        super().__init__(directions, hidden, dropout)
        self.bias_ih, self.bias_hh = vector(directions, 4 * hidden), vector(directions, 4 * hidden)

    def before(self, side: Tensor) -> Tensor:
        """See ``Ending``."""
        bias = self.bias_ih + self.bias_hh
        return side + bias.view(len(bias), *[1] * (side.dim() - 2), -1)

    def initialise(self) -> None:
        """As PyTorch does."""
        for bias in (self.bias_ih, self.bias_hh):
            uniform(bias, self.hidden)


class NormEnding(Ending):
    """Each side has a layer norm and no bias; c' has one too, and it is the normalised c' that is carried on."""

    def __init__(self, directions: int, hidden: int, dropout: float) -> None:
        super().__init__(directions, hidden, dropout)
        self.norm_ih, self.norm_hh = Norm(directions, 4 * hidden), Norm(directions, 4 * hidden)
        self.norm_c = Norm(directions, hidden)

    def before(self, side: Tensor) -> Tensor:
        """See ``Ending``."""
        normed: Tensor = self.norm_ih(side)
        return normed

    def gates(self, before: Tensor, side: Tensor) -> Tensor:
        """See ``Ending``."""
        gates: Tensor = before + self.norm_hh(side)
        return gates

    def carried(self, cell: Tensor) -> Tensor:
        """See ``Ending``."""
        normed: Tensor = self.norm_c(cell)
        return normed

    def initialise(self) -> None:
        """Ones and zeros."""
        for norm in (self.norm_ih, self.norm_hh, self.norm_c):
            norm.initialise()


class HalfNormEnding(NormEnding):
    """``NormEnding`` whose c' is carried on as it is."""

    def __init__(self, directions: int, hidden: int, dropout: float) -> None:
        super().__init__(directions, hidden, dropout)
        del self.norm_c

    def carried(self, cell: Tensor) -> Tensor:
        """See ``Ending``."""
        return cell

    def initialise(self) -> None:
        """Ones and zeros."""
        for norm in (self.norm_ih, self.norm_hh):
            norm.initialise()


class Factors(nn.Module):
    """W = U diag(s) V^T, of which only U (D, O, R) and V^T (D, R, I) exist: (x V * s) U^T costs two thin products."""

    def __init__(self, directions: int, rows: int, rank: int, columns: int) -> None:
        super().__init__()
        self.left, self.right = matrix(directions, rows, rank), matrix(directions, rank, columns)

    def initialise(self, gain: float = 1.0) -> None:
        """U and V with orthonormal columns, U times ``gain``; where the rank exceeds a side, its rows are."""
        orthogonal(self.left, gain)
        orthogonal(self.right)

    def initialise_normal(self, std: float) -> None:
        """N(0, std) entries."""
        init.normal_(self.left, std=std)
        init.normal_(self.right, std=std)

    def gain_for(self, diagonal: float) -> float:
        """The gain of U at which W starts as large as PyTorch's LSTM, for diagonal entries of this size.

        Its entries have variance 1 / (3H); those of g Q diag(s) P^T, Q (4H, R) and P (I, R) orthonormal, have
        g^2 s^2 R / (4H I).
        """
        _, rows, rank = self.left.shape
        columns = self.right.shape[-1]
        at_most = min(rank, rows), min(rank, columns)  # a matrix of a rank above its side has orthonormal rows
        spread = (at_most[0] / rank) * (at_most[1] / rank) * rank / (rows * columns)
        return math.sqrt(4 / (3 * rows) / spread) / diagonal


class Phi(nn.Module):
    """The small LSTM that says xi_t = Phi([u; h_{t-1}]), u being zeta (or the input); xi_t is its next state too.

    weight_ih (D, 4A, Z + H), weight_hh (D, 4A, A); ``ending``: with biases, or layer norms.
    """

    def __init__(self, directions: int, given: int, hidden: int, size: int, ending: Ending) -> None:
        super().__init__()
        self.given = given
        self.weight_ih = matrix(directions, 4 * size, given + hidden)
        self.weight_hh = matrix(directions, 4 * size, size)
        self.ending = ending

    @property
    def of_given(self) -> Tensor:
        """(D, 4A, Z) the columns that read u."""
        return self.weight_ih[..., : self.given]

    @property
    def of_hidden(self) -> Tensor:
        """(D, 4A, H) the columns that read h."""
        return self.weight_ih[..., self.given :]

    def prepare(self) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The step: xi_t and its cell (D, B, A), from what u and h contribute (D, B, 4A) and xi, cell before."""
        multiply, ending = Repeated(self.weight_hh.mT), self.ending
        return lambda side, xi, cell: ending(ending.before(side), multiply(xi), cell)

    def initialise(self) -> None:
        """As PyTorch does with biases; with layer norms as published: orthogonal, and identities for its own state."""
        if isinstance(self.ending, NormEnding):
            orthogonal(self.weight_ih)
            identities(self.weight_hh)
        else:
            for weight in (self.weight_ih, self.weight_hh):
                uniform(weight, self.ending.hidden)
        self.ending.initialise()


@torch.no_grad()
def identities(weight: nn.Parameter) -> None:
    """Start (D, 4H, H) as four identities below each other."""
    eye = torch.eye(weight.shape[-1], device=weight.device, dtype=weight.dtype)
    init.copy_(weight, eye.repeat(4, 1).expand_as(weight))
