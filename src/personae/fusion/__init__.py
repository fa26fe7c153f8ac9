"""The interchangeable heart: every file here is one way to combine sources, found by its name."""

from personae.fusion.base import Fusion, View
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["Fusion", "View"]
