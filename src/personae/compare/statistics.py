"""What metrics rest on, conversation by conversation: enough for intervals of means over runs and of differences.

Shapes: G conversations, K statistics, R resamples.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from personae.evaluation.scores import applies
from personae.metrics import Metric, Reply
from personae.metrics.bleu import CorpusStatistic, bleu_statistics, corpus_bleu
from personae.metrics.bootstrap import Floats, Interval, bootstrap, group_sums, jackknife_interval, ratio
from personae.metrics.checks import conversations
from personae.metrics.distinct import Distinct, leave_one_out
from personae.metrics.f1 import WordF1
from personae.metrics.normalize import normalized_tokens
from personae.metrics.perplexity import Likelihood
from personae.metrics.persona_accuracy import SourceAccuracy


def by_conversation(replies: Sequence[Reply]) -> dict[str, Any]:
    """Names of the conversations in sorted order, and per metric a row of statistics for each of them.

    A metric that no statistics are known for is left out: its means have no interval.
    """
    kinds = [kind for kind in map(Metric.get, Metric.names()) if applies(kind, replies)]
    rows = {kind.name: statistics(kind, replies) for kind in kinds}
    return {
        "conversations": sorted(set(conversations(replies))),
        "statistics": {name: each.tolist() for name, each in rows.items() if each is not None},
    }


def statistics(kind: type[Metric], replies: Sequence[Reply]) -> Floats | None:
    """Statistics (G, K) of ``kind``: sums that ``combine`` makes values of, or for Distinct values without each."""
    if issubclass(kind, Distinct):
        return _left_out(kind, replies)
    if issubclass(kind, CorpusStatistic):
        return group_sums(bleu_statistics(replies), conversations(replies))
    if issubclass(kind, Likelihood):
        rows = [(reply.nats or 0.0, float(kind.count(reply))) for reply in replies]
    elif issubclass(kind, SourceAccuracy):
        rows = [_measured(kind, reply) if reply.tags.get("kind") == kind.kind else (0.0, 0.0) for reply in replies]
    elif issubclass(kind, WordF1):
        rows = [_measured(kind, reply) for reply in replies]
    else:
        return None
    return group_sums(rows, conversations(replies))


def _measured(kind: type[Metric], reply: Reply) -> tuple[float, float]:
    """The value of one reply, and that it counts once."""
    return kind().measure([reply]).value, 1.0


def _left_out(kind: type[Distinct], replies: Sequence[Reply]) -> Floats | None:
    """The value without each conversation (G, 1); one without n-grams changes nothing."""
    said = []
    for reply in replies:
        words = normalized_tokens(reply.prediction)
        said.append((reply.conversation, list(zip(*(words[start:] for start in range(kind.order)), strict=False))))
    speaking = sorted({name for name, grams in said if grams})
    values = dict(zip(speaking, leave_one_out(said), strict=False))
    if not values:
        return None
    whole = kind().measure(replies).value
    return np.array([[values.get(name, whole)] for name in sorted(set(conversations(replies)))])


def combine(kind: type[Metric], sums: Floats) -> Floats:
    """Values (R,) of sums of statistics (R, K)."""
    if issubclass(kind, CorpusStatistic):
        return np.array([kind.part(corpus_bleu(row)) for row in sums])
    values = ratio(sums)
    if issubclass(kind, Likelihood) and kind.exponential:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(values))
    return values


def interval_of(
    kind: type[Metric],
    names: Sequence[str],
    value: float,
    runs: Sequence[Floats],
    less: Sequence[Floats] = (),
) -> Interval:
    """The 95 % interval by conversation of the mean over ``runs``, or of what it has over the mean over ``less``.

    ``names`` (G) of the conversations, ``value`` the mean or difference itself, ``runs`` and ``less`` statistics
    (G, K) of one run each. One draw of conversations serves all of them: the comparison is paired.
    """
    if issubclass(kind, Distinct):
        left_out = np.mean(runs, axis=0)[:, 0] - (np.mean(less, axis=0)[:, 0] if less else 0.0)
        return jackknife_interval(value, left_out)
    sides = [*runs, *less]
    width = sides[0].shape[1]

    def difference(sums: Floats) -> Floats:
        values = [combine(kind, sums[:, at * width : (at + 1) * width]) for at in range(len(sides))]
        with np.errstate(invalid="ignore"):
            mean = np.mean(values[: len(runs)], axis=0)
            return np.asarray(mean - np.mean(values[len(runs) :], axis=0) if less else mean)

    return bootstrap(np.concatenate(sides, axis=1), names, difference)
