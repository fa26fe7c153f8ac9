"""Attention over the sources' answers (Cao et al. 2020, Eq. 3, "att"). Shapes: H heads, W = D / H, else see base."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.fusion.base import Fusion, Past, View, whole_past

TINY = 1e-6


@Fusion.register("attention")
class SignedRootAttention(Fusion):
    """Attention among the answers themselves: softmax(sign(Q K') sqrt|Q K'|) V, then a linear layer.

    Cao et al. 2020, Eq. 3, without a scale, as there. Q is the first view's answer, K the second's, V the
    third's; beside self-attention these are the reply, the persona and the history. The paper has no mask; we
    let no position look ahead. ``heads`` splits all three. Contribution: V's is everything, those of Q and K
    are 0. More than three views: the further ones are values too, and each adds its mean share.
    """

    least = 3
    stepwise = False
    outputs_only = True

    def __init__(self, dim: int, sources: int, heads: int = 1) -> None:
        super().__init__(dim, sources)
        if type(heads) is not int or heads < 1 or dim % heads:
            raise UserError(f"fusion option heads is a number that divides the width {dim}, not '{heads}'")
        self.heads = heads
        self.project = nn.Linear(dim, dim)

    def forward(self, hidden: Tensor, views: Sequence[View], past: Past | None = None) -> tuple[Tensor, ...]:
        """Return a (B, T, D) contribution per view; positions look at the earlier ones in ``past``."""
        past = past or whole_past(hidden)
        query, key, *values = (self.split(view.output) for view in views)
        keys, kept = past.extend(key, torch.cat(values, dim=-1))
        answers = (self.weigh(query, keys, past.mask) @ kept).chunk(len(values), dim=-1)
        shares = [self.project(answer.transpose(1, 2).flatten(-2)) / len(values) for answer in answers]
        return torch.zeros_like(hidden), torch.zeros_like(hidden), *shares

    def split(self, output: Tensor) -> Tensor:
        """(B, T, D) to (B, H, T, W)."""
        return output.view(*output.shape[:2], self.heads, -1).transpose(1, 2)

    def weigh(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Weights (B, H, T, P) of queries (B, H, T, W) over keys (B, H, P, W), mask (B, T, P)."""
        score = self.score(query, keys)
        # A finite fill: a row that may look nowhere stays finite.
        return score.masked_fill(~mask[:, None], torch.finfo(score.dtype).min).softmax(-1).to(query.dtype)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """Sign(x) sqrt|x| (B, H, T, P) of the products x; its slope at 0 is infinite, so it is held to 1000."""
        product = (query @ keys.transpose(-1, -2)).float()
        return product / (product.abs() + TINY).sqrt()
