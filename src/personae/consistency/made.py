"""Pairs made from the interview corpus, whose facts and values say which sentence a reply follows from."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from personae.consistency.labels import CONTRADICTS, ENTAILS, NEUTRAL
from personae.consistency.pairs import Pair, Source, hash_of, share_of
from personae.data.interview import generate
from personae.data.interview.facts import family_named
from personae.data.interview.family import Fact, Family
from personae.data.interview.frames import AGREE, DIFFER
from personae.data.interview.splits import COMBINATIONS, TRAIN, VALUES, draw_fact
from personae.metrics.c_score import Claim

CONVERSATIONS = 3000
HELD_OUT = {COMBINATIONS: 200, VALUES: 100}  # conversations
TWIN_SHARE = 0.5
_SHARES = 6


def make_interview(conversations: int = CONVERSATIONS, seed: int = 0) -> Source:
    """Pairs of ``conversations`` conversations, and held out those of other personas.

    The set ``unseen_combinations`` has personae that training never shows, and its contradictions set values
    against each other that training never does; ``unseen_values`` has values that occur nowhere else.
    """
    train = make_pairs(TRAIN, conversations, seed)
    held_out = {split: make_pairs(split, count, seed) for split, count in HELD_OUT.items()}
    sets = {TRAIN: train, **held_out}
    counts = {name: {"pairs": len(pairs), "sha256": hash_of(pairs)} for name, pairs in sets.items()}
    return Source(train, held_out, {"corpus": "interview", "conversations": conversations, "seed": seed, **counts})


def make_pairs(split: str, conversations: int, seed: int = 0) -> list[Pair]:
    """The pairs of the first ``conversations`` conversations of ``split``."""
    return [pair for record in generate(split, conversations, seed) for pair in Pairing(record, split).pairs()]


@dataclass(frozen=True)
class Answer:
    """A question and its reply."""

    question: str
    reply: str


class Pairing:
    """The pairs of one conversation."""

    def __init__(self, record: Mapping[str, Any], split: str) -> None:
        self.record, self.split = record, split
        self.persona: Sequence[str] = record["persona"]
        self.generator = random.Random(f"pairs-{record['id']}")

    def pairs(self) -> Iterator[Pair]:
        """Every reply beside sentences of the persona and sentences that the persona does not have."""
        turns = self.record["turns"]
        for said, turn in zip(turns[::2], turns[1::2], strict=True):
            yield from self._of_turn(said["text"], turn)

    def _of_turn(self, question: str, turn: Mapping[str, Any]) -> Iterator[Pair]:
        kind, positions = turn["tags"]["kind"], turn["evidence"]["persona"]
        if not positions:
            answer = Answer(question, turn["text"])
            yield self._pair(self.generator.choice(self.persona), answer, NEUTRAL)
            if kind == "context":  # what is said of the partner says nothing of oneself, whatever the value
                yield self._pair(self._stated(self._near(fact_of(turn))), answer, NEUTRAL)
            return
        fact, sentence = fact_of(turn), self.persona[positions[0]]
        for answer in (Answer(question, turn["text"]), self._volunteered(question, fact)):
            yield from self._about(answer, fact, sentence)

    def _about(self, answer: Answer, fact: Fact, sentence: str) -> Iterator[Pair]:
        yield self._pair(sentence, answer, ENTAILS)
        rival = self._rival(fact)
        if rival is not None:
            yield self._pair(self._stated(rival), answer, CONTRADICTS)
        others = [each for each in self.persona if each != sentence]
        yield self._pair(self.generator.choice(others), answer, NEUTRAL)

    def _volunteered(self, question: str, fact: Fact) -> Answer:
        """The fact in other words, after a question about anything or after none."""
        mine = fact.say(fact.family.mine)
        framed = self.generator.choice((*AGREE, *DIFFER)).format(mine=mine)
        said = self.generator.choice((f"{mine} .", framed, *map(fact.say, fact.family.sentences)))
        asked = [turn["text"] for turn in self.record["turns"] if turn["role"] == "partner"]
        return Answer(self.generator.choice(("", question, *asked)), said)

    def _pair(self, sentence: str, answer: Answer, label: str) -> Pair:
        return Pair(Claim(sentence, answer.question, answer.reply), label, self.record["id"])

    def _stated(self, fact: Fact) -> str:
        return fact.say(self.generator.choice(fact.family.sentences))

    def _near(self, fact: Fact) -> Fact:
        """The fact itself or one of its family."""
        return fact if self.generator.random() < TWIN_SHARE else draw_fact(self.generator, fact.family, self.split)

    def _rival(self, fact: Fact) -> Fact | None:
        """A fact of the family with other values, of two sometimes one; None where this split may set none against it.

        One pair of values in six is kept for ``unseen_combinations``.
        """
        slot = self.generator.randrange(len(fact.values))
        rivals = [value for value in self._values(fact.family, slot) if self._owned(fact, slot, value)]
        if not rivals:
            return None
        values = list(draw_fact(self.generator, fact.family, self.split).values)
        if self.generator.random() < TWIN_SHARE:
            values = list(fact.values)
        values[slot] = self.generator.choice(rivals)
        return Fact(fact.family, tuple(values))

    def _values(self, family: Family, slot: int) -> Sequence[str]:
        return (family.held_out if self.split == VALUES else family.common)[slot]

    def _owned(self, fact: Fact, slot: int, value: str) -> bool:
        own = fact.values[slot]
        if value == own:
            return False
        kept = share_of(f"{fact.family.name}|{'|'.join(sorted((own, value)))}", _SHARES) == 0
        return self.split == VALUES or kept == (self.split == COMBINATIONS)


def fact_of(turn: Mapping[str, Any]) -> Fact:
    """The fact that a reply of the corpus rests on."""
    family = family_named(turn["tags"]["family"])
    return Fact(family, tuple(turn["answer"][-len(family.slots) :]))
