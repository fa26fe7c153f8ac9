"""Weights that follow the topics, as released."""

from torch import Tensor, nn
from transformers import initialization as init

from personae.layers.adaptive.base import Parameterisation, Sizes
from personae.layers.adaptive.context_published import STD
from personae.layers.adaptive.parts import NormEnding, matrix, vector
from personae.layers.adaptive.topic import Topic

# What every diagonal entry starts as, whatever theta is.
START = 0.1


class TopicMap(nn.Module):
    """s = B (A theta + a): theta (K) to F factors, A (D, K, K), a (D, K), B (D, F, K)."""

    def __init__(self, directions: int, topics: int, factors: int) -> None:
        super().__init__()
        self.inner, self.bias = matrix(directions, topics, topics), vector(directions, topics)
        self.outer = matrix(directions, factors, topics)

    def forward(self, theta: Tensor) -> Tensor:
        """(D, B, F) of theta (B, K)."""
        return (theta @ self.inner.mT + self.bias[:, None]) @ self.outer.mT

    def initialise(self) -> None:
        """As published: A = 0, a = 1, B = 0.1 / K."""
        init.zeros_(self.inner)
        init.ones_(self.bias)
        init.constant_(self.outer, START / self.outer.shape[-1])


@Parameterisation.register("topic-published")
class TopicPublished(Topic):
    """``topic`` as released (``topic_adaptive_lstm``): W = U diag(B (A theta + a)) V^T of rank F, with layer norms.

    [i f o g] = LN(W x_t) + LN(W' h_{t-1}), c_t normalised, no bias. At the start the diagonal is 0.1 whatever theta
    is. U and V of the input start orthogonal, those of the hidden state N(0, 0.1).
    """

    ending_kind = NormEnding
    uses = frozenset({"factors"})

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout)
        self.map_input = TopicMap(sizes.directions, sizes.topics, sizes.factors)
        self.map_hidden = TopicMap(sizes.directions, sizes.topics, sizes.factors)

    @property
    def rank(self) -> int:
        """See ``Topic``."""
        return self.sizes.factors

    def diagonals(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """See ``Topic``."""
        return self.map_input(theta), self.map_hidden(theta)

    def initialise(self) -> None:
        """As published."""
        self.of_input.initialise()
        self.of_hidden.initialise_normal(STD)
        for each in (self.map_input, self.map_hidden):
            each.initialise()
        self.ending.initialise()
