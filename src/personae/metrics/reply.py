"""Reply and Score: what metrics read, and a number that can be recomputed and shows how sure it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ranking:
    """Scores of the candidate replies to one dialogue, the higher the better.

    ``right`` are those of the candidates that are a gold reply after normalisation, ``wrong`` those of all others,
    in the order of the data.
    """

    right: tuple[float, ...]
    wrong: tuple[float, ...]


@dataclass(frozen=True)
class Reply:
    """One scored reply: a line of ``predictions.jsonl``.

    ``conversation`` is the unit that intervals are drawn by. ``nats`` is the negative log-likelihood of the
    gold reply in nats over ``tokens`` tokens, end token included (None without a model). ``answer`` holds
    the words that a right reply must contain, where the corpus knows them; ``ranking`` what candidate replies
    scored, where they were ranked.
    """

    prediction: str
    references: tuple[str, ...]
    conversation: str = ""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nats: float | None = None
    tokens: int | None = None
    answer: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    ranking: Ranking | None = None


@dataclass(frozen=True)
class Score:
    """A value with its signature and, where it is a mean or a ratio, its 95 % interval."""

    value: float
    signature: str
    interval: tuple[float, float] | None = None
