"""A static W whose rows are scaled and shifted, as released; in neither form is it the poster's."""

from collections.abc import Callable

import torch
from torch import Tensor
from transformers import initialization as init

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State, Step
from personae.layers.adaptive.context import WithPhi
from personae.layers.adaptive.parts import NormEnding, matrix, multiplied, uniform, vector
from personae.layers.adaptive.repeated import Repeated

# Scales, then shifts, of the four gates of the input's side, then of the hidden state's.
BLOCKS = 16


@Parameterisation.register("context-scale")
class ContextScale(WithPhi):
    """Rows of a static W, scaled and shifted by xi_t: LN(alpha W x + b + beta) + LN(alpha' W' h + b' + beta').

    Released as ``context_adaptive_lstm``, which the poster does not have. alpha = E (S xi_t + s) and beta = E' S' xi_t,
    each through a layer of width ``squeeze``, one pair for each gate and side (Ha et al. 2017, HyperLSTM).
    """

    ending_kind = NormEnding
    uses = frozenset({"xi", "squeeze"})

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        directions, gates, half = sizes.directions, 4 * sizes.hidden, BLOCKS // 2 * sizes.squeeze
        self.weight_ih, self.weight_hh = (
            matrix(directions, gates, sizes.inputs),
            matrix(directions, gates, sizes.hidden),
        )
        self.bias_ih, self.bias_hh = vector(directions, gates), vector(directions, gates)
        self.squeeze, self.squeeze_bias = matrix(directions, 2 * half, sizes.xi), vector(directions, half)
        self.expand = matrix(directions * BLOCKS, sizes.hidden, sizes.squeeze)
        self.ending = self.ending_kind(directions, sizes.hidden, dropout)

    def scales(self) -> Callable[[Tensor], tuple[Tensor, ...]]:
        """What says alpha, alpha', beta, beta', each (D, B, 4H), from xi (D, B, A)."""
        squeeze, expand = Repeated(self.squeeze.mT), Repeated(self.expand.mT)
        bias = torch.cat([self.squeeze_bias, torch.zeros_like(self.squeeze_bias)], dim=-1)[:, None]

        def found(xi: Tensor) -> tuple[Tensor, ...]:
            directions, batch, _ = xi.shape
            narrow = (squeeze(xi) + bias).view(directions, batch, BLOCKS, -1)
            wide = expand(narrow.transpose(1, 2).flatten(0, 1))
            return wide.view(directions, BLOCKS, batch, -1).transpose(1, 2).flatten(2).chunk(4, dim=-1)

        return found

    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """See ``Parameterisation``: W x is hoisted."""
        projected, known = multiplied(inputs, self.weight_ih).unbind(1), self.known(inputs, given)
        reading, phi = Repeated(torch.cat([self.phi.of_hidden, self.weight_hh], dim=1).mT), self.phi.prepare()
        scales = self.scales()
        widths = [4 * self.sizes.xi, 4 * self.sizes.hidden]

        def step(at: int, state: State) -> State:
            hidden, cell, xi, inner = state
            part, own = torch.split(reading(hidden), widths, dim=-1)
            xi, inner = phi(known(at) + part, xi, inner)
            scale, own_scale, shift, own_shift = scales(xi)
            side = projected[at] * scale + shift + self.bias_ih[:, None]
            own_side = own * own_scale + own_shift + self.bias_hh[:, None]
            hidden, cell = self.ending(self.ending.before(side), own_side, cell)
            return hidden, cell, xi, inner

        return step

    def initialise(self) -> None:
        """W as PyTorch does; scales start at 0.1 / squeeze a unit, shifts at 0 (Ha et al. 2017)."""
        for weight in (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh):
            uniform(weight, self.sizes.hidden)
        init.normal_(self.squeeze, std=0.01)
        init.ones_(self.squeeze_bias)
        init.constant_(self.expand, 0.1 / self.sizes.squeeze)
        self.phi.initialise()
        self.ending.initialise()


@Parameterisation.register("hyper")
class Hyper(ContextScale):
    """``context-scale`` whose Phi reads the input x_t instead of zeta: a HyperLSTM (Ha et al. 2017).

    Released as ``adaptive_lstm``; it adapts to nothing but its own input.
    """

    reads = frozenset()

    @property
    def given_width(self) -> int:
        """See ``WithPhi``."""
        return self.sizes.inputs

    def known(self, inputs: Tensor, given: Given) -> Callable[[int], Tensor]:
        """See ``WithPhi``: what x_t contributes, for all steps at once."""
        return multiplied(inputs, self.phi.of_given).unbind(1).__getitem__
