"""Which metrics to score by: those named, or all that apply."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from personae.errors import UserError
from personae.evaluation.scores import applicable, build, takes
from personae.metrics import Metric, Reply

VECTORS = "vectors"


def choose(
    first: Sequence[Reply], names: Sequence[str] | None = None, vectors: Path | None = None
) -> dict[str, Metric]:
    """The metrics called ``names``, or all that the ``first`` replies have what they rest on for.

    ``vectors`` is a file of word vectors for the metrics with that option. Raises ``UserError`` for an unknown
    metric, for one that asks for vectors that are not given, and for vectors that no metric asks for.
    """
    files = {} if vectors is None else {VECTORS: vectors}
    takers = [name for name in Metric.names() if takes(name, VECTORS)]
    if vectors is not None and not set(takers) & set(takers if names is None else names):
        raise UserError(f"--vectors {vectors}: {no_taker(takers)}")
    if names is None:
        return some(applicable(first, files))
    for name in names:
        if Metric.get(name).name in takers and vectors is None:
            raise UserError(f"{name} compares word vectors: give them with --vectors FILE")
    return {name: build(name, files) for name in names}


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
