"""Dialogue models that answer from several sources at once, and show which source spoke."""

import importlib
from typing import Any

from personae._version import __version__

# Imported when first used, so that `import personae` needs no torch.
LAZY = {"Bot": "personae.chat"}

__all__ = ["Bot", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'personae' has no attribute '{name}'")
    return getattr(importlib.import_module(LAZY[name]), name)
