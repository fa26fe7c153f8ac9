"""Memory: the encoded sources of a batch, computed once per reply and shared by all its beams."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

from personae.errors import UserError

KeyValue = tuple[Tensor, Tensor]


@dataclass
class Encoded:
    """One encoded source: states (B, S, D), mask (B, S) True on real tokens.

    Keys and values (B, H, S, D / H) are kept per attention module once computed. A decoder batch may hold k
    rows per example (beams, samples): they share the keys and values; states and mask are repeated once.
    """

    states: Tensor
    mask: Tensor
    keys_values: dict[nn.Module, KeyValue] = field(default_factory=dict)
    repeated: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    mapped: dict[nn.Module, "Encoded"] = field(default_factory=dict)

    def projected(self, attention: nn.Module, project: Callable[[Tensor], KeyValue]) -> KeyValue:
        """Keys and values of ``attention`` over the states, computed at the first call."""
        if attention not in self.keys_values:
            self.keys_values[attention] = project(self.states)
        return self.keys_values[attention]

    def rows(self, batch: int) -> tuple[Tensor, Tensor]:
        """States and mask for a decoder batch of ``batch`` rows, a multiple of B."""
        copies = batch // self.mask.shape[0]
        if copies == 1:
            return self.states, self.mask
        if copies not in self.repeated:
            self.repeated[copies] = self.states.repeat_interleave(copies, 0), self.mask.repeat_interleave(copies, 0)
        return self.repeated[copies]

    def through(self, bridge: nn.Module) -> "Encoded":
        """The same source with ``bridge`` applied to its states, at the first call."""
        if bridge not in self.mapped:
            self.mapped[bridge] = Encoded(bridge(self.states), self.mask)
        return self.mapped[bridge]


@dataclass
class Memory:
    """All encoded sources, in the model's order."""

    sources: Mapping[str, Encoded]

    def __getitem__(self, name: str) -> Encoded:
        if name not in self.sources:
            raise UserError(f"the batch lacks source '{name}': it has {', '.join(self.sources) or 'none'}")
        return self.sources[name]
