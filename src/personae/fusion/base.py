"""Fusion: one contribution per source, which the block adds up.

Shapes: B batch, T reply, S source, D width, N views, H heads, P reply positions up to the last of T.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from personae.errors import UserError
from personae.registry import Registrable


def refuse(*_: Tensor) -> Any:
    """Stands where a view has nothing to ask."""
    raise UserError("this source has no cross-attention: the fusion must not ask it")


def unchanged(state: Tensor) -> Tensor:
    """Stands where a view has no layer norm."""
    return state


@dataclass(frozen=True)
class View:
    """What one decoder layer sees of one source.

    states: (B, S, D_source) encoder output; mask: (B, S), True on real tokens; query: (B, T, D) normalised
    decoder state that the source is asked with; attend: cross-attention over ``states`` for a given
    (B, T, D) query, its keys and values computed once per reply; norm: what makes a query of a decoder state;
    heads: for a query, each head's answer (B, T, H, D / H) before the output projection and the logarithm of
    its softmax's denominator (B, T, H); project: the output projection, (B, T, H, D / H) to (B, T, D).

    A layer that has its self-attention beside the sources (``BesideBlock``) shows it as a further view, the
    first, which has an ``output`` and nothing else: only a fusion with ``outputs_only`` runs there.
    """

    states: Tensor
    mask: Tensor
    query: Tensor
    attend: Callable[[Tensor], Tensor] = refuse
    norm: Callable[[Tensor], Tensor] = unchanged
    heads: Callable[[Tensor], tuple[Tensor, Tensor]] = refuse
    project: Callable[[Tensor], Tensor] = refuse

    @cached_property
    def output(self) -> Tensor:
        """(B, T, D) the source's answer to the layer's own query."""
        return self.attend(self.query)

    def ask(self, state: Tensor) -> Tensor:
        """(B, T, D) the source's answer to another decoder state (B, T, D)."""
        return self.attend(self.norm(state))

    @property
    def length(self) -> Tensor:
        """(B,) number of real tokens."""
        return self.mask.sum(-1)


@dataclass(frozen=True)
class Past:
    """The reply so far, for a fusion that needs its earlier positions (``stepwise`` False).

    mask: (B, T, P), True where position t may look at position p: itself, and earlier ones but padding. extend: given
    what the T positions of this step add, two tensors (B, H, T, D') of any H and D', returns the same of all
    P positions; they are kept between steps and follow their beams. Call it once per pass.
    """

    mask: Tensor
    extend: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def whole_past(hidden: Tensor) -> Past:
    """The past of (B, T, D) states that are a whole reply without padding."""
    time = hidden.shape[1]
    mask = hidden.new_ones(hidden.shape[0], time, time).bool().tril()
    return Past(mask, lambda one, two: (one, two))


class Gates(NamedTuple):
    """How far a gating fusion lets each view's answer through: what it is multiplied with.

    weights: per view, in [0, 1]; masks: per view, 1 or True where open. All (B, T, D); ones for a view that is
    not gated.
    """

    weights: tuple[Tensor, ...]
    masks: tuple[Tensor, ...]


class Fusion(nn.Module, Registrable, ABC):
    """Combines what the sources answer.

    ``arity`` is the number of views it needs (None: any, but at least ``least``). ``uses_attention`` False: the
    block builds no cross-attention for it. ``stepwise`` False: position t needs earlier positions of the reply,
    which come as ``Past``, a third argument (None: the input is a whole reply). ``own`` True: the first
    contribution is the decoder state's own, before those of the views. ``outputs_only`` True: it reads of a view
    nothing but its ``output``, so that self-attention may be one of the views. ``gated`` True: it has ``gates``.
    ``weighs_by``: what ``source_weights`` are, where the parameters alone say how much each view counts.
    """

    arity: ClassVar[int | None] = None
    least: ClassVar[int] = 1
    uses_attention: ClassVar[bool] = True
    stepwise: ClassVar[bool] = True
    own: ClassVar[bool] = False
    outputs_only: ClassVar[bool] = False
    gated: ClassVar[bool] = False
    weighs_by: ClassVar[str | None] = None

    def __init__(self, dim: int, sources: int) -> None:
        super().__init__()
        if self.arity not in (None, sources):
            raise UserError(f"fusion '{self.name}' needs {self.arity} sources, the recipe has {sources}")
        if sources < self.least:
            raise UserError(f"fusion '{self.name}' needs at least {self.least} sources, the recipe has {sources}")
        self.dim = dim

    @abstractmethod
    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return one (B, T, D) contribution per view, given ``hidden`` (B, T, D), the residual stream."""

    def initialise(self) -> None:
        """Set parameters that need another start than N(0, 0.02) weights and zero biases."""

    def gates(self, hidden: Tensor, views: Sequence[View]) -> Gates:
        """What the answers of ``views`` are multiplied with. Raises ``UserError`` where nothing is gated."""
        raise UserError(f"fusion '{self.name}' has no gates")

    def source_weights(self) -> Tensor:
        """(N,) how much each view counts, see ``weighs_by``. Raises ``UserError`` where that depends on the input."""
        raise UserError(f"fusion '{self.name}' has no weights of its sources among its parameters")


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
