"""A remedy for PAA's closed masks: the gate starts outside the dead zone, whatever tau is."""

import torch
from torch import Tensor

from personae.fusion.base import Fusion
from personae.fusion.paa import PersonaAdaptiveAttention

MARGIN = 1.0


@Fusion.register("paa-open")
class OpenPersonaAdaptiveAttention(PersonaAdaptiveAttention):
    """PAA whose gate bias opens with tau, so that from random weights both sources speak at step 0; ours.

    Where tau > 1/2, PAA drops both sources for w in [1 - tau, tau], and a fresh gate lies there. Here w =
    sigmoid(FC([h; o_P]) + s b), with b = logit(tau) + 1 where tau > 1/2 and else 0, and s = +1 on even, -1 on
    odd units: even units start open to the persona, odd ones to the context. Masks and contributions as in PAA.
    """

    def weigh(self, pair: Tensor, tau: Tensor) -> Tensor:
        """w (B, T, D), moved out of the dead zone by a bias of each unit's own sign."""
        sign = 1 - 2 * (torch.arange(self.dim, device=pair.device) % 2)
        bias = torch.where(tau > 0.5, torch.logit(tau.float().clamp(0.5, 0.999)) + MARGIN, 0.0)
        return torch.sigmoid(self.gate(pair) + (sign * bias).to(pair.dtype))
