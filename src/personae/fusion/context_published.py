"""Context as in the published code (mode cr-pr). P persona (first view), U context (second)."""

from collections.abc import Sequence

from torch import Tensor

from personae.fusion.base import Fusion, Gates, View
from personae.fusion.dual import DualGates


@Fusion.register("context-published")
class PublishedContextAdaptiveAttention(DualGates):
    """Context as published: the context's gate opens the masks, the persona's gate gives the weights.

    w_P = sigmoid(FC_P([h; o_P])) and w_U = sigmoid(FC_U([h; o_U])); contributions w_P [w_U < 1 - tau] o_P and
    (1 - w_P) [w_U > tau] o_U, with tau as in ``paa``. In the paper w_U gives the weights too (``context``).
    """

    def __init__(self, dim: int, sources: int, tau: str | float = "context") -> None:
        super().__init__(dim, sources, tau)
        # It only feeds masks, which are constants, so it never learns, here as in the published code.
        self.context_gate.requires_grad_(False)

    def gates(self, hidden: Tensor, views: Sequence[View]) -> Gates:
        """(w_P, 1 - w_P) and (m_P, m_U)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        weight, opens = self.weights(hidden, persona, context)
        return Gates((weight, 1 - weight), (opens < 1 - tau, opens > tau))
