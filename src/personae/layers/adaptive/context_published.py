"""Weights that follow the context, as released."""

from personae.layers.adaptive.base import Parameterisation
from personae.layers.adaptive.context import Context
from personae.layers.adaptive.parts import NormEnding

STD = 0.1


@Parameterisation.register("context-published")
class ContextPublished(Context):
    """``context`` as released (``context_svd_adaptive_lstm``): LN(W_t x_t) + LN(W_t' h_{t-1}), c_t normalised, no bias.

    Phi has layer norms too. U and V of the input start orthogonal, those of the hidden state N(0, 0.1).
    """

    ending_kind = NormEnding

    def initialise(self) -> None:
        """As published."""
        self.of_input.initialise()
        self.of_hidden.initialise_normal(STD)
        self.phi.initialise()
        self.ending.initialise()
