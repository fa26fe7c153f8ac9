"""Weights that follow context and topics."""

from collections.abc import Callable

import torch
from torch import Tensor

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State, Step
from personae.layers.adaptive.context import TYPICAL, WithPhi
from personae.layers.adaptive.parts import Factors, matrix, multiplied, uniform, vector
from personae.layers.adaptive.repeated import Repeated

# Psi (2D, B, 4H) of a step: from its number, h (D, B, 4H) as the gate reads it, and xi (D, B, A).
Gate = Callable[[int, Tensor, Tensor], Tensor]


@Parameterisation.register("both")
class Both(WithPhi):
    """W = Psi A_c + (1 - Psi) A_k with A_c = U diag(xi_t) V^T, A_k = U' diag(theta) V'^T: the poster's full model.

    Psi = sigmoid(P xi_t + Q theta + q), a number for each row of W, so that mixing rows of W is mixing what they
    give. Input and hidden state have a W and a Psi each. The released ``context_topic_adaptive_lstm`` weights the
    topics by Psi, lets it see x_t and h_{t-1}, and has layer norms: ``both-published``.
    """

    reads = frozenset({"zeta", "theta"})

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        gates, directions = 4 * sizes.hidden, sizes.directions
        widths = (sizes.inputs, sizes.hidden)
        self.context_input, self.context_hidden = (Factors(directions, gates, sizes.xi, width) for width in widths)
        self.topic_input, self.topic_hidden = (Factors(directions, gates, self.rank, width) for width in widths)
        self.ending = self.ending_kind(directions, sizes.hidden, dropout)
        self._add_gate()

    def _add_gate(self) -> None:
        """Parameters of Psi, of input and hidden state one behind the other: 2D."""
        sides, gates = 2 * self.sizes.directions, 4 * self.sizes.hidden
        self.gate_xi, self.gate_theta = matrix(sides, gates, self.sizes.xi), matrix(sides, gates, self.sizes.topics)
        self.gate_bias = vector(sides, gates)

    @property
    def rank(self) -> int:
        """Length of the topics' diagonal."""
        return self.sizes.topics

    def diagonals(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """See ``Topic``."""
        return theta[None], theta[None]

    def reading_gate(self) -> Tensor | None:
        """(D, 4H, H) what of h the gate reads."""
        return None

    def gate(self, inputs: Tensor, theta: Tensor) -> Gate:
        """Psi, with all hoisted that does not depend on h."""
        fixed, weight = theta @ self.gate_theta.mT + self.gate_bias[:, None], Repeated(self.gate_xi.mT)
        return lambda at, own, xi: (fixed + weight(torch.cat([xi, xi]))).sigmoid()

    def mixed(self, psi: Tensor, context: Tensor, topic: Tensor) -> Tensor:
        """Psi context + (1 - Psi) topic, each (2D, B, 4H)."""
        return torch.lerp(topic, context, psi.to(topic.dtype))  # under autocast they differ

    def prepare(self, inputs: Tensor, given: Given) -> Step:
        """See ``Parameterisation``: topics' input side, x V, zeta's part of Phi and theta's of Psi are hoisted."""
        theta = given.of("theta")
        of_input, of_hidden = self.diagonals(theta)
        scaled = multiplied(inputs, self.topic_input.right) * of_input[:, None]
        topics = multiplied(scaled, self.topic_input.left).unbind(1)
        projected, known = multiplied(inputs, self.context_input.right).unbind(1), self.known(inputs, given)
        gate, of_gate = self.gate(inputs, theta), self.reading_gate()
        read = [self.phi.of_hidden, self.context_hidden.right, self.topic_hidden.right]
        read += [] if of_gate is None else [of_gate]
        reading, phi = Repeated(torch.cat(read, dim=1).mT), self.phi.prepare()
        widths = [4 * self.sizes.xi, self.sizes.xi, self.rank, 0 if of_gate is None else of_gate.shape[1]]
        left = Repeated(torch.cat([self.context_input.left, self.context_hidden.left]).mT)
        topic_left = Repeated(self.topic_hidden.left.mT)

        def step(at: int, state: State) -> State:
            hidden, cell, xi, inner = state
            part, own, own_topic, own_gate = torch.split(reading(hidden), widths, dim=-1)
            xi, inner = phi(known(at) + part, xi, inner)
            context = left(torch.cat([projected[at] * xi, own * xi]))
            topic = torch.cat([topics[at], topic_left(own_topic * of_hidden)])
            side, own_side = self.mixed(gate(at, own_gate, xi), context, topic).chunk(2)
            hidden, cell = self.ending(self.ending.before(side), own_side, cell)
            return hidden, cell, xi, inner

        return step

    def initialise(self) -> None:
        """Orthogonal factors, scaled so that W starts about as large as a plain LSTM's."""
        for factors in (self.context_input, self.context_hidden):
            factors.initialise(factors.gain_for(TYPICAL))
        for factors in (self.topic_input, self.topic_hidden):
            factors.initialise(factors.gain_for(1 / self.sizes.topics))
        for weight in (self.gate_xi, self.gate_theta, self.gate_bias):
            uniform(weight, self.sizes.hidden)
        self.phi.initialise()
        self.ending.initialise()
