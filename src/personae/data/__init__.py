"""Files to Dialogues: one reader per format, found by its name."""

from personae.data.base import Reader
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["Reader"]
