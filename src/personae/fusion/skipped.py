"""Skipped (Huang et al. 2023, Table 4): only the persona is gated. P persona (first view), U context (second)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from personae.fusion.base import Fusion, Gates, View
from personae.fusion.paa import PersonaAdaptiveAttention


@Fusion.register("skipped")
class SkippedContext(PersonaAdaptiveAttention):
    """PAA whose context skips weight and mask (Huang et al. 2023, Table 4).

    w = sigmoid(FC([h; o_P])); contributions w [w > tau] o_P and o_U as it is, with tau as in ``paa``.
    """

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return the persona's and the context's contribution, each (B, T, D)."""
        (weight, _), (mask, _) = self.gates(hidden, views)
        return weight * mask * views[0].output, views[1].output

    def gates(self, hidden: Tensor, views: Sequence[View]) -> Gates:
        """(w, 1) and (m_P, 1)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        weight = self.weigh(torch.cat([hidden, persona.output], dim=-1), tau)
        ones = weight.new_ones(()).expand_as(weight)
        return Gates((weight, ones), (weight > tau, ones))
