"""Whole networks: each a ``DialogueModel``, found by its name. Shapes: B batch, T prompt and reply, V vocabulary."""

from personae.models.adand import AdandConfig, AdandModel
from personae.models.base import DialogueModel, Output
from personae.models.fused import FusedConfig, FusedModel
from personae.models.hosted import HostedConfig, HostedModel
from personae.models.seq2seq import Seq2seqConfig, Seq2seqModel

__all__ = [
    "AdandConfig",
    "AdandModel",
    "DialogueModel",
    "FusedConfig",
    "FusedModel",
    "HostedConfig",
    "HostedModel",
    "Output",
    "Seq2seqConfig",
    "Seq2seqModel",
]
