"""Persona-Adaptive Attention (Huang et al. 2023, Eq. 3 to 7). P persona (first view), U context (second)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.fusion.base import Fusion, Gates, View


@Fusion.register("paa")
class PersonaAdaptiveAttention(Fusion):
    """Persona-Adaptive Attention: a gate weighs persona against context, a threshold masks the weaker.

    w = sigmoid(FC([h; o_P])); contributions w [w > tau] o_P and (1 - w) [w < 1 - tau] o_U, elementwise in D.
    ``tau`` is "context" (the paper: |U| / (|U| + |P|) in tokens, per example), "persona" (|P| in the
    numerator) or a fixed number in [0, 1]. The masks are constants: gradient reaches w by the products only.
    """

    arity = 2
    gated = True

    def __init__(self, dim: int, sources: int, tau: str | float = "context") -> None:
        super().__init__(dim, sources)
        fixed = isinstance(tau, int | float) and not isinstance(tau, bool) and 0 <= tau <= 1
        if tau not in ("context", "persona") and not fixed:
            raise UserError(f"fusion option tau is 'context', 'persona' or a number from 0 to 1, not '{tau}'")
        self.tau = tau
        self.gate = nn.Linear(2 * dim, dim)

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return the persona's and the context's contribution, each (B, T, D)."""
        gates = zip(*self.gates(hidden, views), views, strict=True)
        return tuple(weight * mask * view.output for weight, mask, view in gates)

    def gates(self, hidden: Tensor, views: Sequence[View]) -> Gates:
        """(w, 1 - w) and (m_P, m_U)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        weight = self.weigh(torch.cat([hidden, persona.output], dim=-1), tau)
        return Gates((weight, 1 - weight), self.masks(weight, tau))

    def weigh(self, pair: Tensor, tau: Tensor) -> Tensor:
        """w (B, T, D) from [h; o_P] (B, T, 2 D) (Eq. 3)."""
        return torch.sigmoid(self.gate(pair))

    def masks(self, weight: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        """m_P and m_U (B, T, D), open where the weight is above tau, below 1 - tau (Eq. 6)."""
        return weight > tau, weight < 1 - tau

    def threshold(self, persona: View, context: View) -> Tensor:
        """tau as (B, 1, 1), or a scalar where it is fixed (Eq. 7)."""
        if not isinstance(self.tau, str):
            return persona.states.new_tensor(self.tau)
        counted = context.length if self.tau == "context" else persona.length
        return (counted / (persona.length + context.length))[:, None, None]
