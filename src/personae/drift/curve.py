"""Curves: what was measured at some turns, each value with its interval by conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from personae.drift.selfchat import Conversation
from personae.metrics import Metric, Reply, Score
from personae.metrics.bootstrap import BOOTSTRAP, bootstrap_ratio
from personae.metrics.c_score import Judge
from personae.metrics.distinct import hashed_grams
from personae.metrics.normalize import normalized_tokens
from personae.metrics.signature import signature

ACCURACY, C_SCORE, DISTINCT, REPEATED = "persona_accuracy", "c_score", "distinct_in_chat", "repeated_in_chat"
MEASURES: Mapping[str, str] = {
    ACCURACY: "right answers when asked for the persona, share",
    C_SCORE: "agreement with the persona, sum over its sentences",
    DISTINCT: "distinct word pairs / word pairs of the conversation so far",
    REPEATED: "replies that repeat an earlier one word for word, share",
}


@dataclass(frozen=True)
class Point:
    """Scores after turn ``turn``; replies count from ``first`` on. ``lost``: persona tokens cut a reply, on average."""

    turn: int
    first: int
    scores: Mapping[str, Score]
    lost: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        scores = {
            name: {"value": each.value, "interval": each.interval, "signature": each.signature}
            for name, each in self.scores.items()
        }
        return {"turn": self.turn, "first": self.first, "persona_tokens_cut": round(self.lost, 2), **scores}


@dataclass(frozen=True)
class Curve:
    """One model's points, and what it said."""

    points: Sequence[Point]
    conversations: Sequence[Conversation]

    @property
    def measures(self) -> list[str]:
        """What was measured, in the order of ``MEASURES``."""
        return [name for name in MEASURES if any(name in point.scores for point in self.points)]


def score_point(
    conversations: Sequence[Conversation], first: int, probes: Sequence[Reply], judge: Judge | None
) -> dict[str, Score]:
    """Everything that can be measured of the turns from ``first`` (1-based) up to now."""
    scores = {}
    if probes:
        scores[ACCURACY] = Metric.build(ACCURACY).measure(probes)
    if judge is not None:
        replies = [reply for each in conversations for reply in replies_of(each, first)]
        scores[C_SCORE] = Metric.build(C_SCORE, judge=judge).measure(replies)
    scores[DISTINCT] = mean_of(DISTINCT, conversations, [distinct(each.turns) for each in conversations])
    scores[REPEATED] = mean_of(REPEATED, conversations, [repeated(each.turns, first) for each in conversations])
    return scores


def replies_of(conversation: Conversation, first: int) -> list[Reply]:
    """The turns from ``first`` (1-based) on, each with its speaker's persona and what it answers."""
    heard = [conversation.opener, *conversation.turns]
    return [
        Reply(
            prediction=conversation.turns[at],
            references=(),
            conversation=conversation.cast.name,
            sources={"persona": conversation.cast.personae[at % 2], "context": (heard[at],)},
        )
        for at in range(first - 1, len(conversation.turns))
    ]


def distinct(turns: Sequence[str]) -> float:
    """Distinct word pairs / word pairs within turns of ParlAI-normalised words; 1 where there is no pair."""
    pairs = [pair for turn in turns for pair in hashed_grams(normalized_tokens(turn), 2)]
    return len(set(pairs)) / len(pairs) if pairs else 1.0


def repeated(turns: Sequence[str], first: int) -> float:
    """Share of the turns from ``first`` (1-based) on whose normalised words some earlier turn has, word for word."""
    words = [tuple(normalized_tokens(turn)) for turn in turns]
    again = [words[at] in words[:at] for at in range(first - 1, len(words))]
    return sum(again) / len(again)


def mean_of(name: str, conversations: Sequence[Conversation], values: Sequence[float]) -> Score:
    """The mean over conversations with its interval."""
    names = [each.cast.name for each in conversations]
    interval = bootstrap_ratio(values, [1] * len(values), names)
    return Score(sum(values) / len(values), signature(name, conv=len(names), norm="parlai", ci=BOOTSTRAP), interval)
