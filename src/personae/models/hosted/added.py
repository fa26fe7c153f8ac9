"""What is added to a decoder: sources behind its layers, words of its own. Shapes: B batch, T row, D width, M rows.

All of it stands beside the base in the model's tree and is called by hooks, so that the base keeps every parameter
under its own name, adapters find in it what they look for, and without ``Asking`` it computes as if alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from personae.fusion import Fusion
from personae.layers.blocks import AskSource, Block, ReplySoFar
from personae.layers.memory import Encoded
from personae.models.hosted.layout import states_of


class AfterLayer(Block):
    """Sources asked after a whole layer of the base: h + out(c_1 + ... + c_N), ``out`` (D to D) from zero.

    ``AfterBlock`` asks them between self-attention and MLP. What lies between those differs by family (GPT-NeoX runs
    both side by side, others put a norm after each), and behind the layer is the one place that all have. With
    ``out`` at zero the base computes what it did alone. It is a matrix, and not one number, because its gradient then
    says at once which way each answer should go, while a number near zero holds back all that lies behind it. Source
    i adds out(c_i); evidence reads the contributions c_i themselves.
    """

    def __init__(self, asks: Sequence[AskSource], fusion: Fusion, bridge: nn.Module | None, layer: int) -> None:
        nothing = nn.Identity()  # a block's own parts are the base's
        super().__init__(nothing, nothing, asks, fusion, nothing, nothing, bridge, layer)
        self.out = nn.Linear(fusion.dim, fusion.dim, bias=False)

    def forward(self, hidden: Tensor, sources: Sequence[Encoded], past: ReplySoFar | None = None) -> Tensor:
        """(B, T, D) residual stream in and out."""
        assert self.fusion is not None
        first, *others = self.fuse(self.fusion, hidden, self.views(hidden, sources), past)
        added: Tensor = self.out(sum(others, start=first))
        return hidden + added


class OwnWords(nn.Module):
    """Rows, in and out, for the words from ``first`` on, which the base's tables lack or hold untrained."""

    def __init__(self, first: int, words: int, width: int, head_width: int, bias: bool) -> None:
        super().__init__()
        self.first = first
        self.inputs = nn.Embedding(words, width)
        self.outputs = nn.Linear(head_width, words, bias=bias)

    def embed(self, table: nn.Module, ids: Tensor) -> Tensor:
        """(B, T) ids to (B, T, D) words, those before ``first`` by ``table``."""
        own = ids >= self.first
        mine: Tensor = self.inputs((ids - self.first).clamp_min(0))
        return torch.where(own[..., None], mine, table(ids.masked_fill(own, 0)))

    def widen(self, logits: Tensor, hidden: Tensor) -> Tensor:
        """Logits of all words from the base's (..., more or less) and the states (..., D) that they come from."""
        return torch.cat([logits[..., : self.first], self.outputs(hidden)], dim=-1)

    @torch.no_grad()
    def start(self, table: nn.Module, head: Any, end: int, spread: float) -> None:
        """Begin as the base's rows where it has some, else near that of its end-of-text word, ``end``."""
        device = self.inputs.weight.device
        ids = torch.arange(self.first, self.first + len(self.inputs.weight), device=device)
        known = ids < len(head.weight)
        rows = ids.where(known, torch.full_like(ids, end))
        near = 0.1 * spread * (~known[:, None])
        embedded: Tensor = table(rows)
        self.inputs.weight.copy_(embedded + near * torch.randn_like(embedded))
        self.outputs.weight.copy_(head.weight[rows] + near * torch.randn_like(self.outputs.weight))
        if self.outputs.bias is not None:
            self.outputs.bias.copy_(head.bias[rows])


@dataclass(frozen=True)
class Asking:
    """What the hooks of one forward pass know.

    added: by a layer's number, what asks the sources behind it; rows: (B, T) True where the head should run (None:
    everywhere); words: how many there are; own: those that are not the base's.
    """

    words: int
    added: Mapping[str, AfterLayer] = field(default_factory=dict)
    sources: Sequence[Encoded] = ()
    past: ReplySoFar | None = None
    rows: Tensor | None = None
    own: OwnWords | None = None

    @contextmanager
    def active(self) -> Iterator[None]:
        """While active, the base's layers ask the sources; in other threads they do not."""
        token = NOW.set(self)
        try:
            yield
        finally:
            NOW.reset(token)


NOW: ContextVar[Asking | None] = ContextVar("asking", default=None)


def attach(layers: Sequence[nn.Module], chosen: Sequence[int]) -> None:
    """Let ``chosen`` of the ``layers`` ask."""
    for at in chosen:
        layers[at].register_forward_hook(partial(after_layer, at=str(at)))


def attach_head(head: nn.Module) -> None:
    """Let ``head`` run on chosen rows only, and know the model's words."""
    head.register_forward_pre_hook(before_head)
    head.register_forward_hook(after_head)


def after_layer(_: nn.Module, __: Any, output: Any, at: str) -> Any:
    """The layer's output with its states as the sources left them."""
    asking = NOW.get()
    if asking is None:
        return output
    states = asking.added[at](states_of(output), asking.sources, asking.past)
    return (states, *output[1:]) if isinstance(output, tuple) else states


def before_head(_: nn.Module, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """(B, T, D) to (M, D) where only some rows are asked for."""
    asking = NOW.get()
    return states if asking is None or asking.rows is None else (states[0][asking.rows], *states[1:])


def after_head(_: nn.Module, states: tuple[Tensor, ...], logits: Tensor) -> Tensor:
    """Logits of the model's words, no more and no fewer."""
    asking = NOW.get()
    if asking is None:
        return logits
    return logits[..., : asking.words] if asking.own is None else asking.own.widen(logits, states[0])
