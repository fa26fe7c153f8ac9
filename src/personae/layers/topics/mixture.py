"""Topics as distributions over words."""

import torch.nn.functional as F
from torch import Tensor, nn

from personae.layers.topics.base import TopicModel


@TopicModel.register("mixture")
class Mixture(TopicModel):
    """p(w) = sum_k theta_k beta_kw with theta = softmax(nu): the poster's topic model.

    nu = W z + b, and beta_k = softmax over words of d_k . v_w for topic vectors d and word vectors v. The released
    model is ``experts-published``.
    """

    def __init__(self, topics: int, latent: int, words: int, width: int) -> None:
        super().__init__(topics, latent, words, width)
        self.nu = nn.Linear(latent, topics)

    def shares(self, latent: Tensor) -> Tensor:
        """See ``TopicModel``."""
        theta: Tensor = self.nu(latent).softmax(-1)
        return theta

    def log_words(self, theta: Tensor) -> Tensor:
        """See ``TopicModel``; log sum_k theta_k beta_k as a log-sum-exp."""
        beta = F.log_softmax(self.topic_vectors @ self.word_vectors.mT, dim=-1)
        tiny = theta.clamp_min(1e-30).log()
        return (tiny[..., None] + beta).logsumexp(-2)
