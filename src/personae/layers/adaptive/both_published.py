"""Weights that follow context and topics, as released."""

import torch
from torch import Tensor

from personae.layers.adaptive.base import Parameterisation, Sizes
from personae.layers.adaptive.both import Both, Gate
from personae.layers.adaptive.context_published import STD
from personae.layers.adaptive.parts import Norm, NormEnding, matrix, multiplied, uniform, vector
from personae.layers.adaptive.repeated import Repeated
from personae.layers.adaptive.topic_published import TopicMap


@Parameterisation.register("both-published")
class BothPublished(Both):
    """``both`` as released (``context_topic_adaptive_lstm``): Psi topic + (1 - Psi) context, with layer norms.

    Psi = sigmoid(LN(W_in u + b) + LN(W_top theta + b') + LN(W_ctx xi_t + b'')), u being x_t for the input's side and
    h_{t-1} for the hidden state's: six terms, one layer norm shared by all. Topics and context are those of
    ``topic-published`` and ``context-published``, their sides before any norm.
    """

    ending_kind = NormEnding
    uses = frozenset({"xi", "factors"})

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        self.map_input = TopicMap(sizes.directions, sizes.topics, sizes.factors)
        self.map_hidden = TopicMap(sizes.directions, sizes.topics, sizes.factors)

    def _add_gate(self) -> None:
        sizes, gates = self.sizes, 4 * self.sizes.hidden
        self.gate_input = matrix(sizes.directions, gates, sizes.inputs)
        self.gate_hidden = matrix(sizes.directions, gates, sizes.hidden)
        self.gate_input_bias, self.gate_hidden_bias = (vector(sizes.directions, gates) for _ in range(2))
        sides = 2 * sizes.directions
        self.gate_xi, self.gate_theta = matrix(sides, gates, sizes.xi), matrix(sides, gates, sizes.topics)
        self.gate_xi_bias, self.gate_theta_bias = vector(sides, gates), vector(sides, gates)
        self.gate_norm = Norm(sizes.directions, gates)

    @property
    def rank(self) -> int:
        """See ``Both``."""
        return self.sizes.factors

    def diagonals(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """See ``Topic``."""
        return self.map_input(theta), self.map_hidden(theta)

    def reading_gate(self) -> Tensor | None:
        """See ``Both``."""
        return self.gate_hidden

    def gate(self, inputs: Tensor, theta: Tensor) -> Gate:
        """See ``Both``."""
        seen = self.gate_norm(multiplied(inputs, self.gate_input) + self.gate_input_bias[:, None, None]).unbind(1)
        fixed = self.normed(theta @ self.gate_theta.mT + self.gate_theta_bias[:, None])
        weight, bias = Repeated(self.gate_xi.mT), self.gate_xi_bias[:, None]

        def psi(at: int, own: Tensor, xi: Tensor) -> Tensor:
            term = self.normed(weight(torch.cat([xi, xi])) + bias)
            own_term = self.gate_norm(own + self.gate_hidden_bias[:, None])
            return (torch.cat([seen[at], own_term]) + fixed + term).sigmoid()

        return psi

    def normed(self, sides: Tensor) -> Tensor:
        """The shared layer norm on both sides (2D, B, 4H)."""
        return torch.cat([self.gate_norm(side) for side in sides.chunk(2)])

    def mixed(self, psi: Tensor, context: Tensor, topic: Tensor) -> Tensor:
        """Psi topic + (1 - Psi) context."""
        return torch.lerp(context, topic, psi.to(topic.dtype))

    def initialise(self) -> None:
        """As published; the gate as PyTorch starts linear layers."""
        for factors in (self.context_input, self.topic_input):
            factors.initialise()
        for factors in (self.context_hidden, self.topic_hidden):
            factors.initialise_normal(STD)
        for name in ("input", "hidden", "xi", "theta"):
            weight = getattr(self, f"gate_{name}")
            uniform(weight, weight.shape[-1])
            uniform(getattr(self, f"gate_{name}_bias"), weight.shape[-1])
        for part in (self.map_input, self.map_hidden, self.phi, self.ending, self.gate_norm):
            part.initialise()
