"""Attention routing (Zheng et al. 2020), as compared in Huang et al. 2023. P persona (first view), U context."""

from collections.abc import Sequence

from torch import Tensor, nn

from personae.errors import UserError
from personae.fusion.base import Fusion, View


@Fusion.register("routing")
class AttentionRouting(Fusion):
    """Attention routing: a fixed share alpha of the persona, the rest and once more the context.

    Contributions alpha o_P and (1 - alpha) o_U + o_U. ``alpha``, a number in [0, 1], is 0.2 in Huang et al. 2023
    (Table 1, Attn-Routing), which fixes what Zheng et al. 2020 predict. ``gate`` keeps PAA's gate, which the
    published model builds and never asks: it is frozen, and there to hold the published parameter count.
    """

    arity = 2

    def __init__(self, dim: int, sources: int, alpha: float = 0.2, gate: bool = False) -> None:
        super().__init__(dim, sources)
        if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not 0 <= alpha <= 1:
            raise UserError(f"fusion option alpha is a number from 0 to 1, not '{alpha}'")
        self.alpha = alpha
        self.gate = nn.Linear(2 * dim, dim).requires_grad_(False) if gate else None

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return the persona's and the context's contribution, each (B, T, D)."""
        persona, context = views
        return self.alpha * persona.output, (1 - self.alpha) * context.output + context.output
