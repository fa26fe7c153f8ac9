"""Encoder and decoder of AdaND. Shapes: B sources, R decoder rows (a multiple of B), T reply, S source, H hidden."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from personae.fusion import View
from personae.layers.adaptive import AdaptiveLSTM, Given, State
from personae.layers.blocks import AskSource, ReplySoFar, unasked
from personae.layers.memory import Encoded
from personae.models.adand.attention import KINDS
from personae.models.adand.config import AdandConfig
from personae.models.base import build_fusion


@dataclass
class Heard(Encoded):
    """An encoded source that knows what it leaves the decoder.

    final: each layer's last state with directions added up, (1, B, n); given: its zeta and theta; counts: its bag of
    topic words (B, N), where there is a topic inferrer.
    """

    final: list[State] = field(kw_only=True)
    given: Given = field(kw_only=True)
    counts: Tensor | None = field(kw_only=True, default=None)


def stack(config: AdandConfig, kind: str, bidirectional: bool) -> AdaptiveLSTM:
    """Recurrent layers over words."""
    return AdaptiveLSTM(
        kind,
        config.word_size,
        config.hidden_size,
        config.num_hidden_layers,
        bidirectional,
        between=config.dropout,
        inside=config.dropout,
        context=config.hidden_size,
        topics=config.topics,
        xi=config.xi,
        factors=config.factors,
        squeeze=config.squeeze,
    )


class Reader(nn.Module):
    """Reads words with a table of its own."""

    def __init__(self, config: AdandConfig, kind: str, bidirectional: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.word_size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = stack(config, kind, bidirectional)

    def forward(
        self, ids: Tensor, mask: Tensor | None, given: Given, states: Sequence[State] | None = None
    ) -> tuple[Tensor, list[State]]:
        """Outputs (B, T, D H) and last states for ids (B, T); see ``AdaptiveLSTM``."""
        found: tuple[Tensor, list[State]] = self.layers(self.dropout(self.words(ids)), mask, given, states)
        return found


class Decoder(nn.Module):
    """Writes the reply: recurrent layers, then o = tanh(W_h h + what the fusion takes from the sources).

    With one source and fusion ``sum`` that is o = tanh(W_c [h; c]) (Luong et al. 2015), attention after the layers.
    """

    def __init__(self, config: AdandConfig) -> None:
        super().__init__()
        hidden, states = config.hidden_size, config.hidden_size * (2 if config.bidirectional else 1)
        self.reader = Reader(config, config.parameterisation, bidirectional=False)
        self.fusion = build_fusion(config.fusion or {}, hidden, len(config.sources))
        kind, asking = KINDS[config.attention], self.fusion.uses_attention
        self.asks = nn.ModuleList(
            AskSource(nn.Identity(), kind(states, hidden)) for _ in (config.sources if asking else ())
        )
        self.bridge = nn.Linear(states, hidden) if not asking and states != hidden else None
        self.own = nn.Linear(hidden, hidden, bias=False)

    def forward(
        self, ids: Tensor, mask: Tensor, sources: Sequence[Heard], states: Sequence[State] | None, past: ReplySoFar
    ) -> tuple[Tensor, list[State]]:
        """o (R, T, H) and the last states, for ids (R, T) with their mask; ``states``: those before, None at first."""
        copies = len(ids) // len(sources[0].mask)
        start = begin(sources, copies) if states is None else states
        hidden, last = self.reader(ids, mask, adapted(sources, copies), start)
        views = self.views(hidden, sources)
        parts = self.fusion(hidden, views) if self.fusion.stepwise else self.fusion(hidden, views, past.at(0))
        return sum(parts, start=self.own(hidden)).tanh(), last

    def views(self, hidden: Tensor, sources: Sequence[Heard]) -> list[View]:
        """What the decoder sees of each source from (R, T, H)."""
        if not self.asks:
            return [unasked(hidden, source, self.bridge) for source in sources]
        return [ask(hidden, source, None) for ask, source in zip(self.asks, sources, strict=True)]


def mean(parts: Sequence[Tensor]) -> Tensor:
    """Of one or more tensors."""
    return parts[0] if len(parts) == 1 else torch.stack(list(parts)).mean(0)


def begin(sources: Sequence[Heard], copies: int) -> list[State]:
    """Where the decoder starts: the mean over sources of their last states, each row ``copies`` times."""
    layers = zip(*(source.final for source in sources), strict=True)
    return [tuple(mean(parts).repeat_interleave(copies, 1) for parts in zip(*states, strict=True)) for states in layers]


def adapted(sources: Sequence[Heard], copies: int) -> Given:
    """What the decoder adapts to: the mean over sources of zeta and of theta, each row ``copies`` times."""
    found = {}
    for name in ("zeta", "theta"):
        parts = [part for source in sources if (part := getattr(source.given, name)) is not None]
        found[name] = mean(parts).repeat_interleave(copies, 0) if parts else None
    return Given(**found)


def to_the_left(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (B, S) with their real tokens first, in order, and padding behind."""
    order = (~mask).int().argsort(dim=1, stable=True)
    return ids.gather(1, order), mask.gather(1, order)
