"""Rankers: what puts candidate replies in order, found by name.

Shapes: B dialogues of a batch, C candidates of each, T prompt and reply, V words, D width.
"""

from personae.ranking.base import Question, Ranker, require_candidates
from personae.registry import import_submodules

import_submodules(__name__)

__all__ = ["Question", "Ranker", "require_candidates"]
