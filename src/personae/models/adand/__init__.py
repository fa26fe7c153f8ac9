"""LSTM encoder-decoder whose weights adapt to the context and its topics (Cai et al. 2019)."""

from transformers import AutoConfig, AutoModelForCausalLM

from personae.models.adand.config import AdandConfig
from personae.models.adand.model import AdandModel

AutoConfig.register(AdandConfig.model_type, AdandConfig)
AutoModelForCausalLM.register(AdandConfig, AdandModel)

__all__ = ["AdandConfig", "AdandModel"]
