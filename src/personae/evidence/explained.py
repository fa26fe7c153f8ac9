"""An explained reply: what each sentence and turn has to do with it, in two views. Shapes: M texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

SOURCES, PROMPT, SHARES = "sources", "prompt", "shares"

# What the attention view rests on, for whoever reads it.
VIEWS: Mapping[str, str] = {
    SOURCES: "share of the sources' contributions, split over texts by where the attention to them looks",
    PROMPT: "no sources: where the decoder's self-attention looks in its prompt",
    SHARES: "this fusion pools its sources and looks at no single text: only whole sources have shares",
}


@dataclass(frozen=True)
class Text:
    """One persona sentence or context turn, and what it has to do with a reply.

    ``share``: its part of the attention view, the mean over the reply's tokens (None: the model gives none away).
    ``nats``: what the reply's log-probability loses without this text, log p(reply) - log p(reply | text left out),
    end token included; above 0 the text made the reply likelier. None where the text cannot be left out: it is all
    that its source has. ``read`` False: the budgets cut it off, so the model never saw it. ``position`` from 0.
    """

    source: str
    position: int
    text: str
    role: str | None = None
    read: bool = True
    share: float | None = None
    nats: float | None = None
    nats_per_token: float | None = None

    @property
    def label(self) -> str:
        """How tables call it: ``persona 2``, ``context 3 (partner)``."""
        return f"{self.source} {self.position + 1}" + (f" ({self.role})" if self.role else "")


@dataclass(frozen=True)
class Word:
    """A word of a reply: the share of each source in it (see ``Evidence``), and of each text, in order (M).

    ``texts``: parts of the attention view; ``nats``: what the word's own log-probability loses without each text.
    Where a view has nothing to say of a text, None.
    """

    text: str
    shares: Mapping[str, float]
    texts: tuple[float | None, ...] = ()
    nats: tuple[float | None, ...] = ()

    def __str__(self) -> str:
        return f"{self.text:<15} " + "  ".join(f"{name} {share:4.0%}" for name, share in self.shares.items())


@dataclass(frozen=True)
class Explained:
    """A reply word by word and text by text; printed, one word a line with its shares.

    ``nats``: the reply's negative log-probability over ``tokens`` tokens, end token included; ``shares``: of each
    voice, the mean over the reply's tokens without the end token; ``marks``: what of them falls on marks and
    separators, which are no text. The shares of a source's texts and its marks add up to its own. ``view``: what the
    attention view is, a key of ``VIEWS``; ``prompted``: sources that the decoder also reads in its prompt, which the
    attention view does not see and leave-one-out does. Attention is where the model looked, not why it said something;
    leaving a text out is an intervention, on one text at a time.
    """

    reply: str
    words: tuple[Word, ...]
    texts: tuple[Text, ...] = ()
    shares: Mapping[str, float] | None = None
    marks: Mapping[str, float] | None = None
    nats: float = 0.0
    tokens: int = 0
    view: str = SOURCES
    prompted: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __str__(self) -> str:
        return "\n".join(map(str, self.words))

    @property
    def by_attention(self) -> list[float | None]:
        """Share of each text."""
        return [each.share for each in self.texts]

    @property
    def by_leave_one_out(self) -> list[float | None]:
        """Nats that the reply loses without each text."""
        return [each.nats for each in self.texts]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: ``{"reply", "words": [{"text", "shares", "texts", "nats"}], "texts": [...], ...}``."""
        return asdict(self)


def strongest(values: Sequence[float | None]) -> int | None:
    """Position of the largest of ``values``; None where none is above 0, as nothing spoke for the word."""
    known = [(value, -at) for at, value in enumerate(values) if value is not None and value > 0]
    return -max(known)[1] if known else None
