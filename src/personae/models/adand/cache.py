"""Recurrent states in transformers' cache, whose reordering then serves beams. Shapes: B batch, N all states."""

from typing import Any

from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class StateLayer(CacheLayerMixin):
    """Holds the states after the last token read, (B, N), and how many tokens were read."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to prepare."""
        self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Take states (B, N) in place of the old ones, after the tokens ``value_states`` (B, T)."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys, self.values = key_states, value_states
        self.seen += value_states.shape[1]
        return key_states, value_states

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """See transformers."""
        return self.seen + query_length, 0

    def get_seq_length(self) -> int:
        """Tokens read so far."""
        return self.seen

    def get_max_length(self) -> int:
        """No limit."""
        return -1


def states_of(cache: Cache) -> StateLayer:
    """The first layer of ``cache``, which holds the states; a new cache gets it in place of its attention layers."""
    if not cache.layers or not isinstance(cache.layers[0], StateLayer):
        cache.layers[:] = [StateLayer()]
    found = cache.layers[0]
    assert isinstance(found, StateLayer)
    return found
