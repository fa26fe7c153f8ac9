"""How far a checker can be trusted: accuracy with its interval, and what it takes for what."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from personae.consistency.checker import Checker
from personae.consistency.labels import LABELS
from personae.consistency.pairs import Pair, hash_of
from personae.errors import UserError
from personae.metrics.bootstrap import bootstrap_ratio


def examine(checker: Checker, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Accuracy (0 to 1), its 95 % interval drawn by group, and the confusion: true label, then what was said.

    ``most_common`` is the accuracy of always saying the commonest label. Raises ``UserError`` without any pair.
    """
    if not pairs:
        raise UserError("a checker cannot be tested on no pair at all")
    said = checker.labels([pair.claim for pair in pairs])
    right = [label == pair.label for label, pair in zip(said, pairs, strict=True)]
    counts = Counter((pair.label, label) for label, pair in zip(said, pairs, strict=True))
    interval = bootstrap_ratio(right, [1] * len(right), [pair.group for pair in pairs])
    return {
        "accuracy": sum(right) / len(right),
        "interval": interval,
        "most_common": max(Counter(pair.label for pair in pairs).values()) / len(pairs),
        "pairs": len(pairs),
        "groups": len({pair.group for pair in pairs}),
        "confusion": {true: {label: counts[true, label] for label in LABELS} for true in LABELS},
        "sha256": hash_of(pairs),
    }


def examine_all(checker: Checker, sets: Mapping[str, Sequence[Pair]]) -> dict[str, Any]:
    """``examine`` for each of ``sets``."""
    return {name: examine(checker, pairs) for name, pairs in sets.items()}
