"""Floors: replies that cost nothing, scored beside every model. A metric that they win measures little."""

from personae.metrics.floors.base import Floor
from personae.metrics.floors.constant import CONVAI2_CONSTANT, best_constant
from personae.metrics.floors.copies import CopyPersona
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["CONVAI2_CONSTANT", "CopyPersona", "Floor", "best_constant"]
