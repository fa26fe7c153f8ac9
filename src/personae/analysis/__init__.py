"""Analyses of trained models and their replies, as in the papers: numbers with intervals, and a picture.

Shapes: N examples, L layers with a fusion, B batch, T prompt and reply, D width, V views, K quantities.
"""

from personae.analysis.base import Analysis, write

__all__ = ["Analysis", "write"]
