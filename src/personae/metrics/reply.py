"""Reply and Score: what metrics read, and a number that can be recomputed and shows how sure it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Forced:
    """What a model that reads the gold reply finds likeliest at each position, and what stands there: ids.

    ``gold`` ends in padding, as ``paa_teacher_forced_macro_f1`` says.
    """

    predicted: tuple[int, ...]
    gold: tuple[int, ...]


@dataclass(frozen=True)
class WordNats:
    """Nats of the gold reply's words among all words of a dictionary, as ``convai2_perplexity`` says.

    ``words`` were scored, ``skipped`` are none of the dictionary's; ``nats`` may be too high by up to ``slack``;
    ``dictionary`` is a hash of its words.
    """

    nats: float
    slack: float
    words: int
    skipped: int
    dictionary: str


@dataclass(frozen=True)
class Weighed:
    """What each text that a reply may rest on weighs in it, in two views, in the order of the texts (M).

    ``known``: positions of the texts that it does rest on, as the corpus knows; ``attention``: shares,
    ``leave_one_out``: nats that it loses without the text (None: not to be had); ``question``: position of the
    turn that is answered, if there is one: nearly every reply rests on it, so it stands aside.
    """

    known: tuple[int, ...]
    attention: tuple[float | None, ...]
    leave_one_out: tuple[float | None, ...]
    question: int | None = None

    def others(self, view: str) -> list[float | None]:
        """What the texts weigh in ``view``, a field of this class, without the question."""
        weights: tuple[float | None, ...] = getattr(self, view)
        return [weight for at, weight in enumerate(weights) if at != self.question]

    @property
    def sought(self) -> list[int]:
        """Positions of the known texts among the others."""
        places = [at for at in range(len(self.attention)) if at != self.question]
        return [place for place, at in enumerate(places) if at in self.known]


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
    scored, where they were ranked. ``forced``, ``word_nats`` and ``weighed`` are there only where the metrics that
    rest on them were asked for.
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
    forced: Forced | None = None
    word_nats: WordNats | None = None
    weighed: Weighed | None = None


@dataclass(frozen=True)
class Score:
    """A value with its signature and, where it is a mean or a ratio, its 95 % interval."""

    value: float
    signature: str
    interval: tuple[float, float] | None = None
