"""A GPT-2 decoder that asks several encoded sources in every layer and fuses what they answer."""

from transformers import AutoConfig, AutoModelForCausalLM

from personae.models.fused.config import FusedConfig
from personae.models.fused.model import FusedModel

AutoConfig.register(FusedConfig.model_type, FusedConfig)
AutoModelForCausalLM.register(FusedConfig, FusedModel)

__all__ = ["FusedConfig", "FusedModel"]
