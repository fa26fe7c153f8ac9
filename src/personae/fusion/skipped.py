"""Skipped (Huang et al. 2023, Table 4): only the persona is gated. P persona (first view), U context (second)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Fusion, View
from personae.fusion.paa import PersonaAdaptiveAttention


@Fusion.register("skipped")
class SkippedContext(PersonaAdaptiveAttention):
    """PAA whose context skips weight and mask (Huang et al. 2023, Table 4).

    w = sigmoid(FC([h; o_P])); contributions w [w > tau] o_P and o_U as it is, with tau as in ``paa``.
    """

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return the persona's and the context's contribution, each (B, T, D)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        weight = self.weigh(torch.cat([hidden, persona.output], dim=-1), tau)
        return weight * (weight > tau) * persona.output, context.output
