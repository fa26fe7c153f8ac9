"""LSTMs whose weights adapt to the context and its topics (Cai et al. 2019). Shapes: see ``base``."""

from personae.layers.adaptive.base import Given, Parameterisation, Sizes, State
from personae.layers.adaptive.stack import AdaptiveLSTM, flat, summed, unflat
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["AdaptiveLSTM", "Given", "Parameterisation", "Sizes", "State", "flat", "summed", "unflat"]
