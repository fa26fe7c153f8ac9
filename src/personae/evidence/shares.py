"""Evidence: which source spoke, token by token, read from the contributions that a fusion returns.

Shapes: B batch, T tokens of a pass, D width, L layers, N sources.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.fusion import Fusion


@dataclass(frozen=True)
class Evidence:
    """The share of each source in a piece of text.

    A token's share of source s is the mean over layers of ||c_s|| / sum over sources of ||c||, where c_s (D)
    is the contribution of s at the position that predicts the token and ||.|| the Euclidean norm. Layers
    where every contribution is zero are left out; where all are, every share is 0. So shares sum to 1, or
    are all 0: no source was let through. ``tokens``: how many tokens the shares are the mean of.
    """

    shares: Mapping[str, float]
    tokens: int = 1


@dataclass(frozen=True)
class Piece:
    """A piece of a reply, its leading blank kept, so that the pieces of a reply join to its text."""

    text: str
    evidence: Evidence | None = None


class Recorder:
    """While active, notes the shares of the sources in every forward pass of ``model``.

    ``names`` are the sources in the model's order. ``passes`` holds per pass a tensor (B, T, N): position t
    belongs to the token after it, so in ``generate`` the last position of pass k to the reply's token k.
    Raises ``UserError`` for a model without a fusion: it has no sources to tell apart.
    """

    def __init__(self, model: nn.Module, names: Sequence[str]) -> None:
        self.model, self.names = model, tuple(names)
        self.fusions = [module for module in model.modules() if isinstance(module, Fusion)]
        if not self.fusions:
            raise UserError(
                "this model fuses no sources, so its words have no shares as they come: "
                "ask for its sentences and turns by /why or personae explain"
            )
        self.passes: list[Tensor] = []
        self._layers: list[Tensor] = []

    def __enter__(self) -> "Recorder":
        self._hooks = [fusion.register_forward_hook(self._note) for fusion in self.fusions]
        self._hooks.append(self.model.register_forward_hook(self._close))
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def token(self, number: int) -> Evidence:
        """Evidence of token ``number`` of the reply that ``generate`` is making (batch 1)."""
        return self.at(self.passes[number][0, -1])

    def following(self, start: int) -> Callable[[int], Evidence]:
        """Evidence by number of the tokens from position ``start`` on of the last pass (batch 1)."""
        shares = self.passes[-1][0]
        return lambda number: self.at(shares[start - 1 + number])

    def at(self, shares: Tensor) -> Evidence:
        """Evidence from the shares (N) of one position."""
        return Evidence(dict(zip(self.names, shares.tolist(), strict=True)))

    def _note(self, _: nn.Module, __: Any, contributions: Sequence[Tensor]) -> None:
        self._layers.append(norms(contributions))

    def _close(self, *_: Any) -> None:
        self.passes.append(mean_shares(torch.stack(self._layers)))
        self._layers = []


def norms(contributions: Sequence[Tensor]) -> Tensor:
    """Euclidean norms (B, T, N) of one layer's contributions, N tensors (B, T, D)."""
    return torch.stack([part.detach().float().norm(dim=-1) for part in contributions], dim=-1)


def mean_shares(layers: Tensor) -> Tensor:
    """Shares (B, T, N) from the norms (L, B, T, N): normalised per layer, then the mean over layers that spoke."""
    return layer_shares(layers).sum(0)


def layer_shares(layers: Tensor) -> Tensor:
    """What each layer adds to the shares, (L, B, T, N), from the norms (L, B, T, N)."""
    total = layers.sum(-1, keepdim=True)
    spoke = total > 0
    shares = torch.where(spoke, layers / total.where(spoke, torch.ones_like(total)), 0.0)
    return shares / spoke.sum(0).clamp_min(1)


def average(parts: Sequence[Evidence]) -> Evidence:
    """The mean of one or more pieces of evidence, token by token."""
    tokens = sum(part.tokens for part in parts)
    names = parts[0].shares
    return Evidence({name: sum(part.shares[name] * part.tokens for part in parts) / tokens for name in names}, tokens)


def words(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Merge pieces to words as they come: a word goes up to the next leading blank, its evidence is averaged."""
    parts: list[Piece] = []
    for piece in pieces:
        if parts and piece.text[:1].isspace():
            yield merge(parts)
            parts = []
        parts.append(piece)
    if parts:
        yield merge(parts)


def merge(parts: Sequence[Piece]) -> Piece:
    """One piece from several."""
    known = [part.evidence for part in parts if part.evidence is not None]
    return Piece("".join(part.text for part in parts), average(known) if known else None)
