"""Which metrics to score by: those named, or all that apply."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path

from personae.errors import UserError
from personae.evaluation.scores import applicable
from personae.metrics import Metric, Reply

VECTORS = "vectors"


def choose(
    first: Sequence[Reply], names: Sequence[str] | None = None, vectors: Path | None = None
) -> dict[str, Metric]:
    """The metrics called ``names``, or all that the ``first`` replies have what they rest on for.

    ``vectors`` is a file of word vectors for the metrics with that option; giving it asks for them. Raises
    ``UserError`` for an unknown metric, for one that asks for vectors that are not given, and for vectors that no
    metric asks for.
    """
    takers = [name for name in Metric.names() if VECTORS in inspect.signature(Metric.get(name)).parameters]
    chosen = applicable(first) if names is None else {name: Metric.build(name) for name in names}
    comparing = [name for name in takers if names is None or name in names]
    if vectors is None and names and comparing:
        raise UserError(f"{comparing[0]} compares word vectors: give them with --vectors FILE")
    if vectors is None:
        return some(chosen)
    if not comparing:
        raise UserError(f"--vectors {vectors}: {no_taker(takers)}")
    return {**chosen, **{name: Metric.build(name, vectors=vectors) for name in comparing}}


def no_taker(takers: Sequence[str]) -> str:
    """Why vectors are of no use."""
    if takers:
        return f"none of the metrics chosen compares word vectors; those that do: {', '.join(takers)}"
    return "no metric compares word vectors; leave it out"


def some(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """``metrics``, if there are any."""
    if not metrics:
        raise UserError("no metric applies to these predictions: name one with --metrics to hear what it lacks")
    return dict(metrics)
