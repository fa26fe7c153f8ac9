"""Layers of adaptive LSTMs. Shapes: see ``base``; L layers."""

from collections.abc import Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State


class AdaptiveLSTM(nn.Module):
    """L layers of one parameterisation; the next layer reads h of both directions.

    ``kind`` names the parameterisation, ``sizes`` its numbers beside ``inputs`` and ``hidden``; ``between``: dropout
    between layers; ``inside``: on every candidate.
    """

    def __init__(
        self,
        kind: str,
        inputs: int,
        hidden: int,
        layers: int = 1,
        bidirectional: bool = False,
        between: float = 0.0,
        inside: float = 0.0,
        **sizes: int,
    ) -> None:
        super().__init__()
        self.directions, self.between = 2 if bidirectional else 1, between
        wide = [inputs, *[self.directions * hidden] * (layers - 1)]
        self.layers = nn.ModuleList(
            Parameterisation.build(
                kind, sizes=Sizes(inputs=each, hidden=hidden, directions=self.directions, **sizes), dropout=inside
            )
            for each in wide
        )

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None = None,
        given: Given | None = None,
        states: Sequence[State] | None = None,
    ) -> tuple[Tensor, list[State]]:
        """Outputs (B, T, D H) and each layer's last state, for inputs (B, T, I).

        ``mask`` (B, T) True on real tokens: where it is False the state stays as it was, so that padding on either
        side changes nothing; None: everything is read. ``states``: what to start from, one a layer (None: zeros).
        """
        sided, kept = self.both_ways(mask), []
        for at, layer in enumerate(self.layers):
            if at:
                inputs = F.dropout(inputs, self.between, self.training)
            start = None if states is None else states[at]
            inputs, last = self.run(cast(Parameterisation, layer), inputs, sided, given or Given(), start)
            kept.append(last)
        return inputs, kept

    def both_ways(self, mask: Tensor | None) -> Tensor | None:
        """(T, D, B, 1) of (B, T); None where nothing is padding."""
        if mask is None or bool(mask.all()):
            return None
        return self.stacked(mask.bool()[..., None]).transpose(0, 1)

    def stacked(self, inputs: Tensor) -> Tensor:
        """(D, T, B, I) of (B, T, I): as it is, and for a second direction from the end."""
        forwards = inputs.transpose(0, 1)
        return torch.stack([forwards, forwards.flip(0)]) if self.directions == 2 else forwards[None]

    def run(
        self, layer: Parameterisation, inputs: Tensor, mask: Tensor | None, given: Given, start: State | None
    ) -> tuple[Tensor, State]:
        """One layer: outputs (B, T, D H) and its last state."""
        sided = self.stacked(inputs)
        step, state, outputs = layer.prepare(sided, given), layer.start(sided) if start is None else start, []
        for at in range(inputs.shape[1]):
            following = step(at, state)
            state = following if mask is None else held(mask[at], following, state)
            outputs.append(state[0])
        if not outputs:
            return inputs.new_zeros(*inputs.shape[:2], self.directions * layer.sizes.hidden), state
        every = torch.stack(outputs)
        ways = [every[:, 0], every[:, 1].flip(0)] if self.directions == 2 else [every[:, 0]]
        return torch.cat(ways, dim=-1).transpose(0, 1), state


def held(real: Tensor, following: State, state: State) -> State:
    """``following`` where ``real`` (D, B, 1), elsewhere ``state``."""
    return tuple(torch.where(real, *pair) for pair in zip(following, state, strict=True))


def summed(states: Sequence[State]) -> list[State]:
    """Each layer's last state with its directions added up: (1, B, n) of (D, B, n)."""
    return [tuple(part.sum(0, keepdim=True) for part in state) for state in states]


def flat(states: Sequence[State]) -> Tensor:
    """(B, N) of the states of one direction, one behind the other, for a cache."""
    return torch.cat([part[0] for state in states for part in state], dim=-1)


def unflat(row: Tensor, stack: AdaptiveLSTM) -> list[State]:
    """The states that ``flat`` made (B, N) of."""
    widths: list[tuple[int, ...]] = [cast(Parameterisation, layer).widths for layer in stack.layers]
    parts: Any = iter(torch.split(row, [width for each in widths for width in each], dim=-1))
    return [tuple(next(parts)[None] for _ in each) for each in widths]
