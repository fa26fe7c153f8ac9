"""Honest numbers: one metric per file, found by its name."""

from personae.metrics.base import Metric, Reply, Score, measure_all
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["Metric", "Reply", "Score", "measure_all"]
