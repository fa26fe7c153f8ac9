"""Global attention of a recurrent decoder (Luong et al. 2015).

Shapes: B batch of sources, R decoder rows (a multiple of B), T reply, S source, W width of its states, H decoder.
"""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from personae.layers.attention import SourceAttention
from personae.layers.memory import Encoded, KeyValue


class GlobalAttention(SourceAttention):
    """One softmax over the source's tokens; the answer is W_c's share of the mean of its states, (R, T, H).

    In o = tanh(W_c [h; c]) the columns of W_c that read c are here, so that what each source adds is told apart.
    """

    def __init__(self, states: int, hidden: int) -> None:
        nn.Module.__init__(self)
        self.heads, self.attention_dropout = 1, 0.0
        self.combine = nn.Linear(states, hidden, bias=False)

    @abstractmethod
    def scores(self, asked: Tensor, keys: Tensor) -> Tensor:
        """(B, N, S) from N queries a source (B, N, ...) and its keys (B, S, ...)."""

    def forward(self, query: Tensor, source: Encoded, bridge: nn.Module | None = None) -> Tensor:
        """See ``SourceAttention``."""
        return self.finish(self.answers(query, source, bridge)[0])

    def score(self, query: Tensor, source: Encoded, bridge: nn.Module | None) -> tuple[Tensor, Tensor]:
        """See ``SourceAttention``: (B, 1, N, S) of one head, and the values."""
        keys, values = source.projected(self, self.project)
        asked = self.asked(query)
        scores = self.scores(asked.view(len(keys), -1, asked.shape[-1]), keys[:, 0]).float()
        return scores.masked_fill(~source.mask[:, None], -torch.inf)[:, None], values

    def finish(self, answer: Tensor) -> Tensor:
        """(R, T, 1, H) to (R, T, H)."""
        return answer.flatten(-2)

    def asked(self, query: Tensor) -> Tensor:
        """(R, T, ...) what the keys are asked with."""
        return query

    def keys(self, states: Tensor) -> Tensor:
        """(B, S, ...) of states (B, S, W)."""
        return states

    def project(self, states: Tensor) -> KeyValue:
        """See ``SourceAttention``."""
        return self.keys(states)[:, None], self.combine(states)[:, None]


class General(GlobalAttention):
    """score = (W_a h) . state."""

    def __init__(self, states: int, hidden: int) -> None:
        super().__init__(states, hidden)
        self.ask = nn.Linear(hidden, states, bias=False)

    def asked(self, query: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        asked: Tensor = self.ask(query)
        return asked

    def scores(self, asked: Tensor, keys: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        return asked @ keys.mT


class Dot(GlobalAttention):
    """score = h . state; of states of two directions each is asked with h."""

    def __init__(self, states: int, hidden: int) -> None:
        super().__init__(states, hidden)
        self.times = states // hidden

    def asked(self, query: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        return torch.cat([query] * self.times, dim=-1)

    def scores(self, asked: Tensor, keys: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        return asked @ keys.mT


class Concat(GlobalAttention):
    """score = v . tanh(W_s state + W_h h)."""

    def __init__(self, states: int, hidden: int) -> None:
        super().__init__(states, hidden)
        self.ask, self.key = nn.Linear(hidden, hidden, bias=False), nn.Linear(states, hidden, bias=False)
        self.vector = nn.Linear(hidden, 1, bias=False)

    def asked(self, query: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        asked: Tensor = self.ask(query)
        return asked

    def keys(self, states: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        keys: Tensor = self.key(states)
        return keys

    def scores(self, asked: Tensor, keys: Tensor) -> Tensor:
        """See ``GlobalAttention``."""
        scores: Tensor = self.vector((asked[:, :, None] + keys[:, None]).tanh())
        return scores.squeeze(-1)


KINDS: dict[str, type[GlobalAttention]] = {"general": General, "dot": Dot, "concat": Concat}
