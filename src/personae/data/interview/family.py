"""Family and Fact: what a speaker of the interview corpus can be asked about."""

from dataclasses import dataclass

HELD_OUT_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of fact (job, town, pet ...) with its values and the sentences that speak of it.

    ``slots`` holds the values: one tuple of words, or two where a fact has two parts (a dog called rex).
    In the texts ``{x}`` stands for the first part, ``{y}`` for the second and ``{a}`` for the first with its
    article. ``sentences`` are said by whoever the fact is true of and end in a full stop. Any of ``replies``
    answers any of ``questions``. ``topic`` completes "do you remember ...", ``yours`` and ``mine`` state the
    fact of the partner and of oneself without a full stop, ``same`` asks whether both speakers share it
    (empty: never asked).
    """

    name: str
    slots: tuple[tuple[str, ...], ...]
    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    replies: tuple[str, ...]
    topic: str
    yours: str
    mine: str
    same: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """All values of all slots."""
        return tuple(word for slot in self.slots for word in slot)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every template of the family."""
        single = (self.topic, self.yours, self.mine, self.same)
        return (*self.sentences, *self.questions, *self.replies, *single)

    @property
    def common(self) -> tuple[tuple[str, ...], ...]:
        """Per slot, the values that training may use."""
        return tuple(slot[: len(slot) - held_out_count(slot)] for slot in self.slots)

    @property
    def held_out(self) -> tuple[tuple[str, ...], ...]:
        """Per slot, the values that occur in the split ``unseen_values`` only: the last ones."""
        return tuple(slot[len(slot) - held_out_count(slot) :] for slot in self.slots)


@dataclass(frozen=True, slots=True)
class Fact:
    """A family with one value per slot."""

    family: Family
    values: tuple[str, ...]

    @property
    def key(self) -> str:
        """The fact as a short string: ``"job:baker"``."""
        return f"{self.family.name}:{'+'.join(self.values)}"

    def say(self, template: str) -> str:
        """Fill the values into ``template``."""
        first = self.values[0]
        return template.format(x=first, y=self.values[-1], a=with_article(first))


def held_out_count(slot: tuple[str, ...]) -> int:
    """How many values of a slot are kept out of training: about 15 %, at least two."""
    return max(2, round(HELD_OUT_SHARE * len(slot)))


def with_article(word: str) -> str:
    """``word`` after "a" or "an". The corpus uses no word whose sound and first letter disagree."""
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def slots_of(*lines: str) -> tuple[tuple[str, ...], ...]:
    """Slots from one line of blank-separated values each."""
    return tuple(tuple(line.split()) for line in lines)
