"""Parts of the seq2seq model (Cao et al. 2020, Seq2seq).

Shapes: B batch, T reply, P reply so far, S source, D width, E depth of all heads, H heads, F filter.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

from personae.layers.attention import SourceAttention
from personae.layers.memory import Encoded

# How many neighbours two convolutions of width 3 read.
REACH = 4


def sinusoids(places: Tensor, dim: int) -> Tensor:
    """(B, T, D) of positions (B, T): sines, then cosines, of wavelengths from 2 pi to 20,000 pi."""
    half = dim // 2
    rates = torch.exp(-math.log(10_000) / (half - 1) * torch.arange(half, device=places.device))
    angles = places[..., None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Norm(nn.Module):
    """Layer norm that divides by the unbiased deviation plus epsilon, as published."""

    def __init__(self, dim: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.epsilon = epsilon

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        exact = states.float()
        deviation, mean = torch.std_mean(exact, dim=-1, keepdim=True)
        normed = (exact - mean) / (deviation + self.epsilon)
        return self.weight * normed.to(states.dtype) + self.bias


class SelfAttention(nn.Module):
    """Multi-head attention of a depth of its own, without biases; ``layer`` is its place in the cache."""

    def __init__(self, dim: int, heads: int, depth: int, layer: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.layer = heads, layer
        self.c_attn = nn.Linear(dim, 3 * depth, bias=False)
        self.c_proj = nn.Linear(depth, dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, past_key_values: Cache | None, attention_mask: Tensor) -> tuple[Tensor]:
        """(B, T, D) to (B, T, D), in a tuple as blocks want it; mask (B, 1, T or 1, P), True where one may look."""
        parts = self.c_attn(states).chunk(3, dim=-1)
        query, keys, values = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        if past_key_values is not None:
            keys, values = past_key_values.update(keys, values, self.layer)
        answer = F.scaled_dot_product_attention(query, keys, values, attn_mask=attention_mask)
        return (self.dropout(self.c_proj(answer.transpose(1, 2).flatten(-2))),)


class NarrowAttention(SourceAttention):
    """Cross-attention of a depth of its own, without biases."""

    def __init__(self, dim: int, heads: int, depth: int, dropout: float) -> None:
        nn.Module.__init__(self)
        self.heads, self.attention_dropout = heads, 0.0
        for name, read, written in (("q_attn", dim, depth), ("c_attn", dim, 2 * depth), ("c_proj", depth, dim)):
            self.add_module(name, nn.Linear(read, written, bias=False))
        self.dropout = nn.Dropout(dropout)

    def scores(self, query: Tensor, source: Encoded) -> Tensor:
        """(B, T, S) what each position's softmax is taken of, the mean over heads; -inf on padding."""
        keys, _ = source.projected(self, self.project)
        batch, time, _ = query.shape
        asked = self.asked(query).view(keys.shape[0], -1, self.heads, keys.shape[-1]).transpose(1, 2)
        scores = (asked @ keys.transpose(-1, -2)).mean(1).float() / math.sqrt(keys.shape[-1])
        return scores.masked_fill(~source.mask[:, None, :], -torch.inf).view(batch, time, -1)


class Convolutions(nn.Module):
    """The feed-forward layer: two convolutions of width 3, each followed by ReLU.

    They read the neighbours on both sides or, with ``place``, earlier ones only; ``place`` is where the cache
    keeps the last inputs, behind the attention layers. Padding counts as zero, before either convolution.
    """

    def __init__(self, dim: int, width: int, dropout: float, place: int | None = None) -> None:
        super().__init__()
        self.up, self.down = nn.Conv1d(dim, width, 3), nn.Conv1d(width, dim, 3)
        self.dropout = nn.Dropout(dropout)
        self.place = place

    def forward(self, states: Tensor, real: Tensor, cache: Cache | None = None) -> Tensor:
        """(B, T, D) to (B, T, D); ``real`` (B, P) is True on tokens, the last T of them those of ``states``."""
        states = states * real[:, -states.shape[1] :, None]
        states, real = self.around(states, real) if self.place is None else self.before(states, real, cache)
        inner = F.relu(self.up(states.transpose(1, 2)))
        # What the first convolution says at a place without a token is no input of the second.
        inner = inner * (real[:, 1:-1] if self.place is None else real[:, 2:])[:, None]
        output: Tensor = self.dropout(F.relu(self.down(inner)).transpose(1, 2))
        return output

    def around(self, states: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """States and ``real`` with half the reach on either side."""
        half = REACH // 2
        return F.pad(states, (0, 0, half, half)), F.pad(real, (half, half))

    def before(self, states: Tensor, real: Tensor, cache: Cache | None) -> tuple[Tensor, Tensor]:
        """States and ``real`` with the whole reach before them: from the cache, zero where nothing was."""
        needed = states.shape[1] + REACH
        if cache is not None and self.place is not None:
            states = cache.update(states[:, None], states[:, None, :, :0], self.place)[0][:, 0]
        return (
            F.pad(states[:, -needed:], (0, 0, max(0, needed - states.shape[1]), 0)),
            F.pad(real[:, -needed:], (max(0, needed - real.shape[1]), 0)),
        )


def make_room(cache: Cache, layers: int) -> None:
    """Places in the cache: ``layers`` for keys and values, then as many for the convolutions' last inputs.

    There the cache's own reordering serves both.
    """
    while len(cache.layers) < layers:
        cache.layers.append(DynamicLayer())
    while len(cache.layers) < 2 * layers:
        cache.layers.append(DynamicSlidingWindowLayer(sliding_window=REACH + 1))
