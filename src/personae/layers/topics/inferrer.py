"""Which topics a dialogue has: inferred from its words. Shapes: B batch, Z latent, K topics, N topic words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import initialization as init

from personae.layers.topics.base import Gaussian, TopicModel


@dataclass(frozen=True)
class TopicLosses:
    """Nats per example, (B,): ``words``, those of the topic words under q(z | x, y); ``kl``, of q from p(z | x)."""

    words: Tensor
    kl: Tensor


class TopicInferrer(nn.Module):
    """Prior p(z | x) and posterior q(z | x, y) from bags of words, and a topic model on top (Miao et al. 2017).

    The prior says which topics a context has; the posterior, which reads the reply too, trains it: the loss is
    -E_q log p(words of x and y | theta(z)) + KL(q || p). The poster's prior is N(0, I), which knows no context; as
    released it is a net of its own. ``sample``: z is drawn at evaluation too, as released; otherwise it is the mean
    there, so that scores do not depend on chance. ``hidden``: widths inside both nets.
    """

    def __init__(
        self,
        kind: str,
        words: int,
        topics: int,
        latent: int,
        width: int,
        hidden: Sequence[int] = (512, 128, 64),
        dropout: float = 0.0,
        sample: bool = False,
    ) -> None:
        super().__init__()
        self.prior = Gaussian(words, hidden, latent, dropout)
        self.posterior = Gaussian(words, hidden, latent, dropout)
        self.model = TopicModel.build(kind, topics=topics, latent=latent, words=words, width=width)
        self.sample = sample

    def forward(self, counts: Tensor) -> Tensor:
        """theta (B, K) of a context's counts (B, N)."""
        return self.model.shares(self.draw(*self.prior(self.cast(counts))))

    def losses(self, context: Tensor, whole: Tensor) -> TopicLosses:
        """For counts (B, N) of contexts, and of contexts with their replies."""
        whole = self.cast(whole)
        prior, posterior = self.prior(self.cast(context)), self.posterior(whole)
        log_words = self.model.log_words(self.model.shares(self.draw(*posterior)))
        return TopicLosses(-(whole * log_words).sum(-1), divergence(posterior, prior))

    def draw(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """z (B, Z)."""
        if not (self.training or self.sample):
            return mean
        return mean + (log_variance / 2).exp() * self.noise(mean)

    def cast(self, counts: Tensor) -> Tensor:
        """Counts in the precision of the parameters."""
        return counts.to(self.model.topic_vectors.dtype)

    def noise(self, like: Tensor) -> Tensor:
        """Standard normal numbers (B, Z)."""
        return torch.randn_like(like)

    def initialise(self) -> None:
        """Vectors as published, U(-1 / sqrt(width), 1 / sqrt(width)); linear layers are the model's business."""
        for vectors in (self.model.topic_vectors, self.model.word_vectors):
            init.uniform_(vectors, -(vectors.shape[-1] ** -0.5), vectors.shape[-1] ** -0.5)


def divergence(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> Tensor:
    """KL (B,) in nats of a Gaussian from another, each mean and log variance (B, Z)."""
    (mean, log_variance), (centre, spread) = one, other
    apart = (mean - centre).square() + log_variance.exp()
    return 0.5 * (spread - log_variance + apart / spread.exp() - 1).sum(-1)


def annealed(step: int, middle: float, width: float) -> float:
    """Weight of the KL at an optimiser step: (tanh((step - middle) / width) + 1) / 2; 1 where ``middle`` is 0."""
    if not middle:
        return 1.0
    return float((torch.tanh(torch.tensor((step - middle) / width, dtype=torch.float64)) + 1) / 2)
