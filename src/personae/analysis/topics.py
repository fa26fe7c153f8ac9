"""A map of embeddings in the plane, for topics or words: t-SNE (van der Maaten and Hinton 2008)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from personae.errors import UserError
from personae.metrics.bootstrap import Floats

PERPLEXITY = 30.0


def topic_map(embeddings: Tensor, perplexity: float = PERPLEXITY, seed: int = 0) -> Floats:
    """Points (N, 2) for ``embeddings`` (N, D), neighbours near each other; distances between groups say nothing.

    ``perplexity``, about how many neighbours a point has, is lowered to a third of N - 1 for few points; the same
    ``seed`` gives the same map. Raises ``UserError`` for fewer than four points or what is no matrix.
    """
    from sklearn.manifold import TSNE  # heavy, and only needed here

    if embeddings.dim() != 2 or len(embeddings) < 4:
        raise UserError(f"a map of {tuple(embeddings.shape)}: give a matrix of at least 4 rows")
    rows = embeddings.detach().double().cpu().numpy()
    nearby = min(perplexity, (len(rows) - 1) / 3)
    found = TSNE(n_components=2, perplexity=nearby, init="pca", random_state=seed).fit_transform(rows)
    return np.asarray(found, np.float64)


def draw_map(points: Floats, names: Sequence[str]) -> Any:
    """A figure of ``points`` (N, 2) with a name at each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    axes = figure.add_subplot(1, 1, 1)
    axes.scatter(points[:, 0], points[:, 1], s=12, color="#0072b2")
    for (x, y), name in zip(points.tolist(), names, strict=True):
        axes.annotate(name, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    return figure
