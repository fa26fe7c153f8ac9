"""Dual (Huang et al. 2023, Table 4): a gate of its own for each source. P persona (first view), U context (second)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.fusion.base import Fusion, Gates, View
from personae.fusion.paa import PersonaAdaptiveAttention


@Fusion.register("dual")
class DualGates(PersonaAdaptiveAttention):
    """PAA with two gates, one per source, so that both may be loud or silent (Huang et al. 2023, Table 4).

    w_P = sigmoid(FC_P([h; o_P])) and w_U = sigmoid(FC_U([h; o_U])); contributions w_P [w_P > tau] o_P and
    w_U [w_U < 1 - tau] o_U, with tau and its masks as in ``paa``.
    """

    def __init__(self, dim: int, sources: int, tau: str | float = "context") -> None:
        super().__init__(dim, sources, tau)
        self.context_gate = nn.Linear(2 * dim, dim)

    def gates(self, hidden: Tensor, views: Sequence[View]) -> Gates:
        """(w_P, w_U) and (m_P, m_U)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        persona_weight, context_weight = self.weights(hidden, persona, context)
        return Gates((persona_weight, context_weight), (persona_weight > tau, context_weight < 1 - tau))

    def weights(self, hidden: Tensor, persona: View, context: View) -> tuple[Tensor, Tensor]:
        """w_P and w_U (B, T, D)."""
        persona_gate = self.gate(torch.cat([hidden, persona.output], dim=-1))
        context_gate = self.context_gate(torch.cat([hidden, context.output], dim=-1))
        return torch.sigmoid(persona_gate), torch.sigmoid(context_gate)
