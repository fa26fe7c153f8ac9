"""Evaluation: a run's replies to a data file, and every metric beside the floors."""

import importlib
from typing import TYPE_CHECKING, Any

from personae.evaluation.predictions import read_predictions

if TYPE_CHECKING:
    from personae.evaluation.evaluating import evaluate
    from personae.evaluation.further import Further
    from personae.evaluation.judge import Evaluation

# Imported when first used, so that scoring replies that are there already needs no torch.
LAZY = {
    "Evaluation": "personae.evaluation.judge",
    "Further": "personae.evaluation.further",
    "evaluate": "personae.evaluation.evaluating",
}

__all__ = ["Evaluation", "Further", "evaluate", "read_predictions"]


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'personae.evaluation' has no attribute '{name}'")
    return getattr(importlib.import_module(LAZY[name]), name)
