"""Which facts and pairs of facts each split may use: fixed rules, so that splits of any seed stay apart."""

import random
import zlib
from collections.abc import Sequence

from personae.data.interview.family import Fact, Family
from personae.data.interview.life import LIFE
from personae.data.interview.tastes import TASTES

FAMILIES: tuple[Family, ...] = LIFE + TASTES
TRAIN, VALID, COMBINATIONS, VALUES = "train", "valid", "unseen_combinations", "unseen_values"
SPLITS = (TRAIN, VALID, COMBINATIONS, VALUES)

_BUCKETS = 60
_OWNERS = {0: COMBINATIONS, 1: VALID}
_FORBIDDEN: dict[str, tuple[str, ...]] = {TRAIN: (VALID, COMBINATIONS), VALID: (COMBINATIONS,)}


def owner(one: Fact, other: Fact) -> str:
    """Return the split that a pair of facts is kept for: one pair in 60 each for two splits, else train.

    A persona of ``valid`` or ``unseen_combinations`` holds at least one pair of its own, one of ``train``
    none of theirs and one of ``valid`` none of ``unseen_combinations``. So no two of them share a persona.
    """
    text = "|".join(sorted((one.key, other.key)))
    return _OWNERS.get(zlib.crc32(text.encode()) % _BUCKETS, TRAIN)


def draw_fact(generator: random.Random, family: Family, split: str) -> Fact:
    """Draw a fact of ``family`` with values that ``split`` may use."""
    slots = family.held_out if split == VALUES else family.common
    return Fact(family, tuple(generator.choice(slot) for slot in slots))


def draw_persona(generator: random.Random, split: str, count: int) -> list[Fact]:
    """Draw ``count`` facts of distinct families, in random order."""
    facts = _first_pair(generator, split)
    taken = {fact.family.name for fact in facts}
    free = [family for family in FAMILIES if family.name not in taken]
    for family in generator.sample(free, count - len(facts)):
        facts.append(_beside(generator, facts, family, split))
    generator.shuffle(facts)
    return facts


def _first_pair(generator: random.Random, split: str) -> list[Fact]:
    wanted = TRAIN if split == VALUES else split
    while True:
        pair = [draw_fact(generator, family, split) for family in generator.sample(FAMILIES, 2)]
        if owner(*pair) == wanted:
            return pair


def _beside(generator: random.Random, facts: Sequence[Fact], family: Family, split: str) -> Fact:
    forbidden = _FORBIDDEN.get(split, ())
    while True:
        fact = draw_fact(generator, family, split)
        if not any(owner(fact, other) in forbidden for other in facts):
            return fact
