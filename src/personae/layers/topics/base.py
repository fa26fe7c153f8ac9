"""Topic models: shares of topics from a latent, and words from shares. Shapes: B batch, Z latent, K topics, N words."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from personae.errors import UserError
from personae.registry import Registrable

# Keeps arccos and its gradient finite on the diagonal.
SLACK = 1e-5


class TopicModel(nn.Module, Registrable, ABC):
    """What a topic is: theta from the latent z, and the words that theta makes likely.

    topics: K; latent: Z; words: N; width: of topic and word vectors.
    """

    def __init__(self, topics: int, latent: int, words: int, width: int) -> None:
        super().__init__()
        if topics < 2:
            raise UserError(f"model.options.topics={topics}: shares of topics need 2 topics or more")
        self.topic_vectors = nn.Parameter(torch.empty(topics, width))
        self.word_vectors = nn.Parameter(torch.empty(words, width))

    @abstractmethod
    def shares(self, latent: Tensor) -> Tensor:
        """theta (B, K) of z (B, Z): not negative, in sum 1."""

    @abstractmethod
    def log_words(self, theta: Tensor) -> Tensor:
        """Log-probabilities (B, N) of topic words under theta (B, K)."""

    def diversity(self) -> Tensor:
        """Variance less mean of the angles between topic vectors, in radians: small where all are far apart.

        As published, over all K^2 pairs, a vector with itself among them; only lines count, not directions. Not in
        the poster.
        """
        unit = nn.functional.normalize(self.topic_vectors, dim=-1)
        cosines = (unit @ unit.mT).abs() - SLACK * torch.eye(len(unit), device=unit.device, dtype=unit.dtype)
        angles = cosines.arccos()
        return angles.var(correction=0) - angles.mean()


class Gaussian(nn.Module):
    """Mean and log variance of z given counts (B, N): a narrowing net, as wide as its input at the end.

    hidden: widths of the layers between, after each of which come dropout and tanh; tanh after the last too.
    """

    def __init__(self, words: int, hidden: Sequence[int], latent: int, dropout: float) -> None:
        super().__init__()
        widths = [words, *hidden, words]
        self.layers = nn.ModuleList(nn.Linear(one, other) for one, other in itertools.pairwise(widths))
        self.mean, self.log_variance = nn.Linear(words, latent), nn.Linear(words, latent)
        self.dropout = nn.Dropout(dropout)

    def forward(self, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Both (B, Z)."""
        states = counts
        for at, layer in enumerate(self.layers):
            states = layer(states)
            states = (states if at == len(self.layers) - 1 else self.dropout(states)).tanh()
        return self.mean(states), self.log_variance(states)
