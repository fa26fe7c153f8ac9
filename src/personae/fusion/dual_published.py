"""Dual as in the published code (mode prr-crr). P persona (first view), U context (second)."""

from collections.abc import Sequence

from torch import Tensor

from personae.fusion.base import Fusion, View
from personae.fusion.dual import DualGates


@Fusion.register("dual-published")
class PublishedDualGates(DualGates):
    """Dual as published: what the gates keep from the sources goes to the layer's queries, and all is halved.

    With q_i the query of source i, the decoder state's own contribution is
    1/2 ((1 - w_P) [w_P < 1 - tau] q_P + (1 - w_U) [w_U > tau] q_U); the contribution of the persona is
    1/2 w_P [w_P > tau] o_P and that of the context 1/2 w_U [w_U < 1 - tau] o_U. The paper has no such own part.
    """

    own = True

    def forward(self, hidden: Tensor, views: Sequence[View]) -> tuple[Tensor, ...]:
        """Return the decoder state's own, the persona's and the context's contribution, each (B, T, D)."""
        persona, context = views
        tau = self.threshold(persona, context).to(hidden.dtype)
        persona_weight, context_weight = self.weights(hidden, persona, context)
        kept_from_persona = (1 - persona_weight) * (persona_weight < 1 - tau) * persona.query
        kept_from_context = (1 - context_weight) * (context_weight > tau) * context.query
        by_persona = persona_weight * (persona_weight > tau) * persona.output
        by_context = context_weight * (context_weight < 1 - tau) * context.output
        return (kept_from_persona + kept_from_context) / 2, by_persona / 2, by_context / 2
