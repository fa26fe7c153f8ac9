"""The condition-aware block of Huang et al. (2023, Eq. 11 to 14), made causal. C = N + 1 conditions."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.fusion.base import Fusion, Past, View, by_part, whole_past


@Fusion.register("condition")
class ConditionAware(Fusion):
    """Condition-aware block: the decoder state weighs pooled sources and the pooled reply (Eq. 11 to 14).

    c_i is source i's states pooled over its real tokens, c_R,t the decoder states up to t; ``pooling`` is "mean"
    or "max". s_t = softmax over the N + 1 conditions of query_i(h_t) . key(c_i) / sqrt(D). Contribution of
    condition i: W_i s_t,i value(c_i) + b / (N + 1), W_i its columns of the output layer; the reply's is the
    decoder state's own. In the parameters the sources stand first, as published.
    """

    uses_attention, stepwise, own = False, False, True

    def __init__(self, dim: int, sources: int, pooling: str = "mean") -> None:
        super().__init__(dim, sources)
        if pooling not in ("mean", "max"):
            raise UserError(f"fusion option pooling is 'mean' or 'max', not '{pooling}'")
        self.pool = mean if pooling == "mean" else maximum
        self.query = nn.Linear(dim, (sources + 1) * dim)
        self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.transform = nn.Linear((sources + 1) * dim, dim)

    def forward(self, hidden: Tensor, views: Sequence[View], past: Past | None = None) -> tuple[Tensor, ...]:
        """Return the decoder state's own contribution and one per source, each (B, T, D)."""
        past = past or whole_past(hidden)
        reply, _ = past.extend(hidden[:, None], hidden[:, None, :, :1])
        pooled = [self.pool(view.states, view.mask[:, None]) for view in views]
        pooled.append(self.pool(reply[:, 0], past.mask))
        queries = self.query(hidden).chunk(len(pooled), dim=-1)
        scores = [(query * self.key(each)).sum(-1) for query, each in zip(queries, pooled, strict=True)]
        shares = (torch.stack(scores, dim=-1) / self.dim**0.5).softmax(-1)[..., None].unbind(-2)
        values = [share * self.value(each) for share, each in zip(shares, pooled, strict=True)]
        *sources, own = by_part(self.transform, values)
        return own, *sources


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """(B, T, D): per row of ``mask`` (B, T, P) the mean of ``states`` (B, P, D); 0 where the row is empty."""
    return mask.to(states.dtype) / mask.sum(-1, keepdim=True).clamp_min(1) @ states


def maximum(states: Tensor, mask: Tensor) -> Tensor:
    """As ``mean``: the maximum. Row t of a mask looks back over the last row's positions, so it is a running one."""
    seen = states.masked_fill(~mask[:, -1, :, None], -torch.inf).cummax(1).values[:, -mask.shape[1] :]
    return seen.masked_fill(seen.isneginf(), 0)
