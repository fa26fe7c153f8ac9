"""One reply and all that it may rest on, as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SELF = "self"
PARTNER = "partner"


@dataclass(frozen=True)
class Dialogue:
    """One reply to be made, with its sources kept apart.

    ``sources`` maps a source's name to its texts, oldest first: persona sentences, context turns.
    ``roles`` gives, for a source that has speakers, who said each text (``"self"`` or ``"partner"``).
    ``response`` is the gold reply, ``references`` further gold replies, ``distractors`` the candidates
    without the gold one. ``conversation`` names the conversation that the turn belongs to: intervals are
    drawn by conversation. ``evidence`` (where a corpus knows it) holds, per source, the positions of the
    texts that the reply rests on; ``answer`` the words that a right reply must contain; ``tags`` anything
    to group scores by.
    """

    sources: Mapping[str, tuple[str, ...]]
    response: str
    references: tuple[str, ...] = ()
    distractors: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    conversation: str = ""
    evidence: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    answer: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def golds(self) -> tuple[str, ...]:
        """Every gold reply, the response first."""
        return (self.response, *self.references)
