"""What metrics rest on, conversation by conversation: enough for intervals of means over runs and of differences."""

from collections.abc import Sequence
from typing import Any

from personae.evaluation.scores import applicable
from personae.metrics import Reply
from personae.metrics.sample import Sample, chunks


def by_conversation(replies: Sequence[Reply]) -> dict[str, Any]:
    """Names of the conversations in sorted order, and per metric a row of statistics for each of them.

    A metric that keeps none is left out: its means have no interval.
    """
    sample = Sample()
    tallies = {name: metric.tally(sample) for name, metric in applicable(replies).items()}
    for chunk in chunks(replies, sample):
        for tally in tallies.values():
            tally.add(chunk)
    rows = {name: tally.by_conversation() for name, tally in tallies.items()}
    return {
        "conversations": sample.names,
        "statistics": {name: each.tolist() for name, each in rows.items() if each is not None},
    }
