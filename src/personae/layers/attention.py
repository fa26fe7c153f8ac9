"""Cross-attention to one source, with keys and values computed once per reply."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
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
        batch, time, dim = query.shape
        # Beams of one example ask the same source: they become further query positions, no key is copied.
        asked = self.q_attn(query).view(keys.shape[0], -1, self.heads, dim // self.heads).transpose(1, 2)
        answer = F.scaled_dot_product_attention(
            asked,
            keys,
            values,
            attn_mask=source.mask[:, None, None, :],
            dropout_p=self.attention_dropout if self.training else 0.0,
        )
        output: Tensor = self.dropout(self.c_proj(answer.transpose(1, 2).reshape(batch, time, dim)))
        return output

    def answers(self, query: Tensor, source: Encoded, bridge: nn.Module | None = None) -> tuple[Tensor, Tensor]:
        """Each head's answer (B, T, H, D / H) before ``c_proj``, and its softmax's log denominator (B, T, H)."""
        keys, values = source.projected(self, lambda states: self.project(bridge(states) if bridge else states))
        batch, time, dim = query.shape
        asked = self.q_attn(query).view(keys.shape[0], -1, self.heads, dim // self.heads).transpose(1, 2)
        scores = asked @ keys.transpose(-1, -2) / (dim // self.heads) ** 0.5
        scores = scores.float().masked_fill(~source.mask[:, None, None, :], -torch.inf)
        total = scores.logsumexp(-1, keepdim=True)
        weights = F.dropout((scores - total).exp().to(values.dtype), self.attention_dropout, self.training)
        answer = (weights @ values).transpose(1, 2).reshape(batch, time, self.heads, -1)
        return answer, total.transpose(1, 2).reshape(batch, time, self.heads)

    def finish(self, answer: Tensor) -> Tensor:
        """(B, T, H, D / H) answers of the heads to (B, T, D)."""
        output: Tensor = self.dropout(self.c_proj(answer.flatten(-2)))
        return output

    def project(self, states: Tensor) -> KeyValue:
        """Keys and values (B, H, S, D / H) of source states (B, S, D)."""
        keys, values = self.c_attn(states).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def _split(self, states: Tensor) -> Tensor:
        # Contiguous: every step of a reply reads them again.
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2).contiguous()
