"""Honest numbers: one metric per file, found by its name."""

from personae.metrics.base import Metric, Reply, Score, measure_all
from personae.metrics.reply import Ranking
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["Metric", "Ranking", "Reply", "Score", "measure_all"]
