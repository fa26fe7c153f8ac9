"""A W that is generated whole, as in the released code that no option reaches."""

import torch
from torch import Tensor

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State, Step
from personae.layers.adaptive.context import WithPhi
from personae.layers.adaptive.parts import HalfNormEnding, NormEnding, matrix, multiplied, uniform, vector
from personae.layers.adaptive.repeated import Repeated


@Parameterisation.register("context-full")
class ContextFull(WithPhi):
    """W_t = sum_k z_k W_k + W_0 with z = S xi_t + s: a hypernetwork that generates every entry of W.

    In the release ``ContextAdaptiveLSTMCell2``, which no option reaches; not in the poster. There W_t is built for each
    example; here sum_k z_k (W_k x) is, which is the same. c_t is not normalised.
    """

    ending_kind = NormEnding
    uses = frozenset({"xi", "squeeze"})

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        directions, gates, inner = sizes.directions, 4 * sizes.hidden, sizes.squeeze
        self.squeeze, self.squeeze_bias = matrix(directions, 2 * inner, sizes.xi), vector(directions, 2 * inner)
        # W_1 to W_s, then W_0, below each other.
        self.generate_ih = matrix(directions, (inner + 1) * gates, sizes.inputs)
        self.generate_hh = matrix(directions, (inner + 1) * gates, sizes.hidden)
        self.ending = HalfNormEnding(directions, sizes.hidden, dropout)

    def weighted(self, products: Tensor, shares: Tensor) -> Tensor:
        """(D, B, 4H): W_k x (D, B, (s + 1) 4H), the first s times their z (D, B, s), the last once."""
        each = products.view(*shares.shape[:-1], shares.shape[-1] + 1, -1)
        return (each[:, :, :-1] * shares[..., None]).sum(2) + each[:, :, -1]

    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """See ``Parameterisation``: all W_k x are hoisted."""
        projected, known = multiplied(inputs, self.generate_ih).unbind(1), self.known(inputs, given)
        reading, phi = Repeated(torch.cat([self.phi.of_hidden, self.generate_hh], dim=1).mT), self.phi.prepare()
        widths, squeeze = [4 * self.sizes.xi, self.generate_hh.shape[1]], Repeated(self.squeeze.mT)

        def step(at: int, state: State) -> State:
            hidden, cell, xi, inner = state
            part, own = torch.split(reading(hidden), widths, dim=-1)
            xi, inner = phi(known(at) + part, xi, inner)
            shares, own_shares = (squeeze(xi) + self.squeeze_bias[:, None]).chunk(2, dim=-1)
            side = self.ending.before(self.weighted(projected[at], shares))
            hidden, cell = self.ending(side, self.weighted(own, own_shares), cell)
            return hidden, cell, xi, inner

        return step

    def initialise(self) -> None:
        """Linear layers as PyTorch starts them."""
        uniform(self.squeeze, self.sizes.xi)
        uniform(self.squeeze_bias, self.sizes.xi)
        for weight in (self.generate_ih, self.generate_hh):
            uniform(weight, self.sizes.hidden)
        self.phi.initialise()
        self.ending.initialise()
