"""Topics of a dialogue as a latent variable (Cai et al. 2019; Miao et al. 2017)."""

from personae.layers.topics.bag import BagOfWords, topic_words
from personae.layers.topics.base import TopicModel
from personae.layers.topics.inferrer import TopicInferrer, TopicLosses, annealed
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["BagOfWords", "TopicInferrer", "TopicLosses", "TopicModel", "annealed", "topic_words"]
