"""Cross-attention to one source, with keys and values computed once per reply.

Shapes: B batch, T reply, S source, D width, H heads.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.pytorch_utils import Conv1D

from personae.layers.memory import Encoded, KeyValue


class SourceAttention(nn.Module):
    """Multi-head attention from the decoder to a source, with the parameters of GPT-2's cross-attention."""

    def __init__(self, dim: int, heads: int, attention_dropout: float = 0.0, output_dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.attention_dropout = attention_dropout
        self.q_attn = Conv1D(dim, dim)
        self.c_attn = Conv1D(2 * dim, dim)
        self.c_proj = Conv1D(dim, dim)
        self.dropout = nn.Dropout(output_dropout)

    def forward(self, query: Tensor, source: Encoded, bridge: nn.Module | None = None) -> Tensor:
        """Return (B, T, D) for a (B, T, D) query; ``bridge`` maps states of another width to D first."""
        keys, values = source.projected(self, lambda states: self.project(bridge(states) if bridge else states))
        batch, time, _ = query.shape
        # Beams of one example ask the same source: they become further query positions, no key is copied.
        asked = self.asked(query).view(keys.shape[0], -1, self.heads, keys.shape[-1]).transpose(1, 2)
        answer = F.scaled_dot_product_attention(
            asked,
            keys,
            values,
            attn_mask=source.mask[:, None, None, :],
            dropout_p=self.attention_dropout if self.training else 0.0,
        )
        return self.finish(answer.transpose(1, 2).reshape(batch, time, self.heads, -1))

    def answers(self, query: Tensor, source: Encoded, bridge: nn.Module | None = None) -> tuple[Tensor, Tensor]:
        """Each head's answer (B, T, H, D / H) before ``c_proj``, and its softmax's log denominator (B, T, H)."""
        scores, values = self.score(query, source, bridge)
        batch, time, _ = query.shape
        total = scores.logsumexp(-1, keepdim=True)
        weights = F.dropout((scores - total).exp().to(values.dtype), self.attention_dropout, self.training)
        answer = (weights @ values).transpose(1, 2).reshape(batch, time, self.heads, -1)
        return answer, total.transpose(1, 2).reshape(batch, time, self.heads)

    def weights(self, query: Tensor, source: Encoded, bridge: nn.Module | None = None) -> Tensor:
        """(B, T, S) where a (B, T, D) query looks, the mean over heads: what ``forward`` computes and does not keep."""
        scores, _ = self.score(query, source, bridge)
        return scores.softmax(-1).mean(1).reshape(*query.shape[:2], -1)

    def score(self, query: Tensor, source: Encoded, bridge: nn.Module | None) -> tuple[Tensor, Tensor]:
        """What the heads' softmax is taken of, -inf on padding, and the values; beams are further positions."""
        keys, values = source.projected(self, lambda states: self.project(bridge(states) if bridge else states))
        asked = self.asked(query).view(keys.shape[0], -1, self.heads, keys.shape[-1]).transpose(1, 2)
        scores = asked @ keys.transpose(-1, -2) / keys.shape[-1] ** 0.5
        return scores.float().masked_fill(~source.mask[:, None, None, :], -torch.inf), values

    def finish(self, answer: Tensor) -> Tensor:
        """(B, T, H, D / H) answers of the heads to (B, T, D)."""
        output: Tensor = self.dropout(self.c_proj(answer.flatten(-2)))
        return output

    def asked(self, query: Tensor) -> Tensor:
        """(B, T, D) queries of all heads."""
        asked: Tensor = self.q_attn(query)
        return asked

    def project(self, states: Tensor) -> KeyValue:
        """Keys and values (B, H, S, D / H) of source states (B, S, D)."""
        keys, values = self.c_attn(states).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def _split(self, states: Tensor) -> Tensor:
        # Contiguous: every step of a reply reads them again.
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2).contiguous()


class BorrowedAttention(SourceAttention):
    """A layer's self-attention, asked about a source: no parameters of its own (Cao et al. 2020, shared attention)."""

    def __init__(self, lender: GPT2Attention) -> None:
        nn.Module.__init__(self)
        self.heads, self.attention_dropout = lender.num_heads, lender.attn_dropout.p
        # In a list: not a submodule, so its parameters have one name only.
        self._lender = [lender]

    def asked(self, query: Tensor) -> Tensor:
        """See ``SourceAttention``."""
        lender = self._lender[0]
        if not hasattr(lender.c_attn, "weight"):  # a packed layer cannot be cut
            return self._all(query)[0]
        width = query.shape[-1]
        return query @ lender.c_attn.weight[:, :width] + lender.c_attn.bias[:width]

    def project(self, states: Tensor) -> KeyValue:
        """See ``SourceAttention``."""
        _, keys, values = self._all(states)
        return self._split(keys), self._split(values)

    def finish(self, answer: Tensor) -> Tensor:
        """See ``SourceAttention``."""
        lender = self._lender[0]
        output: Tensor = lender.resid_dropout(lender.c_proj(answer.flatten(-2)))
        return output

    def _all(self, states: Tensor) -> tuple[Tensor, ...]:
        return self._lender[0].c_attn(states).chunk(3, dim=-1)  # type: ignore[no-any-return]
