"""A decoder of any family that transformers knows, with sources added behind its layers."""

from transformers import AutoConfig, AutoModelForCausalLM

from personae.models.hosted.config import HostedConfig
from personae.models.hosted.model import HostedModel

AutoConfig.register(HostedConfig.model_type, HostedConfig)
AutoModelForCausalLM.register(HostedConfig, HostedModel)

__all__ = ["HostedConfig", "HostedModel"]
