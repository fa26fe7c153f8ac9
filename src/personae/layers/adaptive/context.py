"""Weights that follow the context."""

from collections.abc import Callable

import torch
from torch import Tensor

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State, Step
from personae.layers.adaptive.parts import BiasEnding, Ending, Factors, Phi, multiplied
from personae.layers.adaptive.repeated import Repeated

# At the start xi, a product of a sigmoid and a tanh near 0, is about this large.
TYPICAL = 0.1


class WithPhi(Parameterisation):
    """What all that have a Phi share; its state is h, c and Phi's xi and cell."""

    reads = frozenset({"zeta"})
    uses = frozenset({"xi"})
    ending_kind: type[Ending] = BiasEnding

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        inner = self.ending_kind(sizes.directions, sizes.xi, dropout)
        self.phi = Phi(sizes.directions, self.given_width, sizes.hidden, sizes.xi, inner)

    @property
    def given_width(self) -> int:
        """Width of what Phi reads beside h."""
        return self.sizes.context

    @property
    def widths(self) -> tuple[int, ...]:
        """See ``Parameterisation``."""
        return (self.sizes.hidden, self.sizes.hidden, self.sizes.xi, self.sizes.xi)

    def known(self, inputs: Tensor, given: Given) -> Callable[[int], Tensor]:
        """What u contributes to Phi (D, B, 4A), by step: zeta is the same at all."""
        fixed = given.of("zeta") @ self.phi.of_given.mT
        return lambda _: fixed


@Parameterisation.register("context")
class Context(WithPhi):
    """W_t = U diag(xi_t) V^T with xi_t = Phi(zeta, h_{t-1}): the poster's context-aware parameterisation.

    One W_t for input and one for hidden state, each for all four gates; both use the same xi_t. Phi is an LSTM.
    The released ``context_svd_adaptive_lstm`` has layer norms and no biases: ``context-published``.
    """

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        gates, directions = 4 * sizes.hidden, sizes.directions
        self.of_input = Factors(directions, gates, sizes.xi, sizes.inputs)
        self.of_hidden = Factors(directions, gates, sizes.xi, sizes.hidden)
        self.ending = self.ending_kind(directions, sizes.hidden, dropout)

    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """See ``Parameterisation``: x V and zeta's part of Phi are hoisted; from h and from xi one product each."""
        projected, known = multiplied(inputs, self.of_input.right).unbind(1), self.known(inputs, given)
        reading = Repeated(torch.cat([self.phi.of_hidden, self.of_hidden.right], dim=1).mT)
        left, phi = Repeated(torch.cat([self.of_input.left, self.of_hidden.left]).mT), self.phi.prepare()
        size = self.sizes.xi

        def step(at: int, state: State) -> State:
            hidden, cell, xi, inner = state
            part, own = torch.split(reading(hidden), [4 * size, size], dim=-1)
            xi, inner = phi(known(at) + part, xi, inner)
            side, own_side = left(torch.cat([projected[at] * xi, own * xi])).chunk(2)
            hidden, cell = self.ending(self.ending.before(side), own_side, cell)
            return hidden, cell, xi, inner

        return step

    def initialise(self) -> None:
        """Orthogonal factors, scaled so that W starts as large as a plain LSTM's."""
        for factors in (self.of_input, self.of_hidden):
            factors.initialise(factors.gain_for(TYPICAL))
        self.phi.initialise()
        self.ending.initialise()
