"""Distinct n-grams over the whole corpus, with a jackknife interval."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from personae.metrics.base import Metric, Reply, Score
from personae.metrics.bootstrap import JACKKNIFE, Interval, jackknife_interval
from personae.metrics.checks import conversations, require_replies
from personae.metrics.normalize import normalized_tokens
from personae.metrics.signature import sample_signature

Gram = tuple[str, ...]


class Distinct(Metric):
    """Distinct n-grams / n-grams over all replies in %; falls as a corpus grows: compare at equal ``n``."""

    order: ClassVar[int]

    def measure(self, replies: Sequence[Reply]) -> Score:
        """Score ``replies``; without a single n-gram the value is 0."""
        require_replies(self.name, replies)
        grams = [self._grams(reply.prediction) for reply in replies]
        types, total = len({gram for found in grams for gram in found}), sum(map(len, grams))
        value = 100 * types / total if total else 0.0
        interval = self._interval(value, list(zip(conversations(replies), grams, strict=True)))
        fields = {"norm": "parlai", "per": f"{self.order}-gram", "grams": total, "ci": JACKKNIFE}
        return Score(value, sample_signature(self.name, replies, **fields), interval)

    def _grams(self, text: str) -> list[Gram]:
        words = normalized_tokens(text)
        return list(zip(*(words[start:] for start in range(self.order)), strict=False))

    def _interval(self, value: float, said: list[tuple[str, list[Gram]]]) -> Interval:
        left_out = list(leave_one_out(said))
        interval = jackknife_interval(value, left_out)
        return interval and (max(0.0, interval[0]), min(100.0, interval[1]))


def leave_one_out(said: Sequence[tuple[str, Sequence[Gram]]]) -> Iterator[float]:
    """Yield distinct-n in % without each conversation that has n-grams, exactly and in one pass.

    Leaving a conversation out removes its n-grams from the total and, from the types, those that only it
    holds. ``said`` pairs the conversation of each reply with its n-grams. Yields nothing where a single
    conversation has them all.
    """
    holder: dict[Gram, str | None] = {}
    totals: Counter[str] = Counter()
    for conversation, grams in said:
        totals[conversation] += len(grams)
        for gram in grams:
            if holder.setdefault(gram, conversation) != conversation:
                holder[gram] = None
    own = Counter(name for name in holder.values() if name is not None)
    speaking = sorted(name for name, count in totals.items() if count)
    if len(speaking) > 1:
        yield from (100 * (len(holder) - own[name]) / (totals.total() - totals[name]) for name in speaking)


@Metric.register("dist1")
class DistinctUnigrams(Distinct):
    """Distinct words / words over all replies in %, ParlAI-normalised."""

    order = 1


@Metric.register("dist2")
class DistinctBigrams(Distinct):
    """Distinct word pairs / word pairs over all replies in %, ParlAI-normalised; never divided by words."""

    order = 2
