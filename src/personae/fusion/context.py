"""Context (Huang et al. 2023, Table 4): the gate reads the context. P persona (first view), U context (second)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Fusion, Gates, View
from personae.fusion.paa import PersonaAdaptiveAttention


@Fusion.register("context")
class ContextAdaptiveAttention(PersonaAdaptiveAttention):
    """PAA turned round: the gate weighs context against persona (Huang et al. 2023, Table 4).

    w = sigmoid(FC([h; o_U])); contributions (1 - w) [w < 1 - tau] o_P and w [w > tau] o_U, with tau as in ``paa``.
    """

    def gates(self, hidden: Tensor, views: Sequence[View]) -> Gates:
        """(1 - w, w) and (m_P, m_U)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        weight = self.weigh(torch.cat([hidden, context.output], dim=-1), tau)
        context_mask, persona_mask = self.masks(weight, tau)
        return Gates((1 - weight, weight), (persona_mask, context_mask))
