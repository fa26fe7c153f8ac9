"""Topics as released: vectors that are mixed before the words are asked."""

import torch.nn.functional as F
from torch import Tensor, nn

from personae.layers.topics.base import TopicModel

WIDE = 512


@TopicModel.register("experts-published")
class ExpertsPublished(TopicModel):
    """p(w) = softmax over words of LN(theta D) . LN(v_w), as released: a product of experts, no mixture.

    theta = softmax(LN(tanh(W' tanh(W z + b) + b'))), LN without weights: over K values it lets no share exceed
    e^a / (e^a + (K - 1) e^(-1/a)) with a = sqrt(K - 1), which is 0.753 for five topics.
    """

    def __init__(self, topics: int, latent: int, words: int, width: int) -> None:
        super().__init__(topics, latent, words, width)
        self.wide, self.narrow = nn.Linear(latent, WIDE), nn.Linear(WIDE, topics)

    def shares(self, latent: Tensor) -> Tensor:
        """See ``TopicModel``."""
        nu = self.narrow(self.wide(latent).tanh()).tanh()
        return normed(nu).softmax(-1)

    def log_words(self, theta: Tensor) -> Tensor:
        """See ``TopicModel``."""
        return (normed(theta @ self.topic_vectors) @ normed(self.word_vectors).mT).log_softmax(-1)


def normed(states: Tensor) -> Tensor:
    """Layer norm over the last dimension, without weights."""
    return F.layer_norm(states, states.shape[-1:])
