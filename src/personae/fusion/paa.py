"""Persona-Adaptive Attention (Huang et al. 2023, Eq. 3 to 7). P persona (first view), U context (second)."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.fusion.base import Fusion, View


@Fusion.register("paa")
class PersonaAdaptiveAttention(Fusion):
    """Persona-Adaptive Attention: a gate weighs persona against context, a threshold masks the weaker.

    w = sigmoid(FC([h; o_P])); contributions w [w > tau] o_P and (1 - w) [w < 1 - tau] o_U, elementwise in D.
    ``tau`` is "context" (the paper: |U| / (|U| + |P|) in tokens, per example), "persona" (|P| in the
    numerator) or a fixed number in [0, 1]. The masks are constants: gradient reaches w by the products only.
    """

    arity = 2

    def __init__(self, dim: int, sources: int, tau: Literal["context", "persona"] | float = "context") -> None:
        super().__init__(dim, sources)
        if isinstance(tau, str) and tau not in ("context", "persona"):
            raise UserError(f"tau is 'context', 'persona' or a number from 0 to 1, not '{tau}'")
        if not isinstance(tau, str) and not 0 <= tau <= 1:
            raise UserError(f"tau={tau} is outside 0 to 1")
        self.tau = tau
        self.gate = nn.Linear(2 * dim, dim)

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return the persona's and the context's contribution, each (B, T, D)."""
        persona, context = views
        weight = torch.sigmoid(self.gate(torch.cat([hidden, persona.output], dim=-1)))
        tau = self.threshold(persona, context).to(weight.dtype)
        return weight * (weight > tau) * persona.output, (1 - weight) * (weight < 1 - tau) * context.output

    def threshold(self, persona: View, context: View) -> Tensor:
        """tau as (B, 1, 1), or a scalar where it is fixed (Eq. 7)."""
        if not isinstance(self.tau, str):
            return persona.states.new_tensor(self.tau)
        total = persona.length + context.length
        counted = context.length if self.tau == "context" else persona.length
        return (counted / total)[:, None, None]
