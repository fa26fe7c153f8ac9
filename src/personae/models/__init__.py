"""Whole networks: each a ``DialogueModel``, found by its name. Shapes: B batch, T prompt and reply, V vocabulary."""

from personae.models.base import DialogueModel, Output
from personae.models.fused import FusedConfig, FusedModel

__all__ = ["DialogueModel", "FusedConfig", "FusedModel", "Output"]
