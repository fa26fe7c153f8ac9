"""The LSTM with layer norms."""

from personae.layers.adaptive.base import Parameterisation
from personae.layers.adaptive.parts import NormEnding, identities, orthogonal
from personae.layers.adaptive.plain import Plain


@Parameterisation.register("layer-norm")
class LayerNorm(Plain):
    """[i f o g] = LN(W_x x_t) + LN(W_h h_{t-1}), and c_t = LN(f c_{t-1} + i g); no bias but the norms'.

    Not in the poster; released as ``bn_lstm``, and there every context encoder and every Phi are of this kind.
    """

    ending_kind = NormEnding

    def initialise(self) -> None:
        """As published: W_x orthogonal, W_h four identities."""
        orthogonal(self.weight_ih)
        identities(self.weight_hh)
        self.ending.initialise()
