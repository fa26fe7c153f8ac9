"""A remedy for PAA's closed masks: gradient passes a closed mask, so that the gate can learn to open it."""

from torch import Tensor

from personae.fusion.base import Fusion
from personae.fusion.paa import PersonaAdaptiveAttention


@Fusion.register("paa-straight-through")
class StraightThroughPersonaAdaptiveAttention(PersonaAdaptiveAttention):
    """PAA with straight-through masks: the same values forward, the weight's gradient backward; ours.

    In PAA the masks are constants, so a gate in the dead zone [1 - tau, tau] gets no gradient and stays there.
    Here d m_P / d w = 1 and d m_U / d w = -1 (Bengio et al. 2013's straight-through estimator).
    Masks and contributions are PAA's in value.
    """

    def masks(self, weight: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        """m_P and m_U (B, T, D): hard values, soft gradient."""
        through = weight - weight.detach()
        persona, context = super().masks(weight, tau)
        return persona.to(weight.dtype) + through, context.to(weight.dtype) - through
