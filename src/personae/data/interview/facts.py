"""From a sentence of the interview corpus back to the fact that it states."""

from collections.abc import Iterator
from functools import cache
from itertools import product

from personae.data.interview.family import Fact, Family
from personae.data.interview.splits import FAMILIES


def recognise(sentence: str) -> Fact | None:
    """The fact that a persona sentence of the corpus states; None for any other sentence."""
    return _stated().get(sentence)


def family_named(name: str) -> Family:
    """The family called ``name``."""
    return next(family for family in FAMILIES if family.name == name)


@cache
def _stated() -> dict[str, Fact]:
    return {fact.say(template): fact for fact in _facts() for template in fact.family.sentences}


def _facts() -> Iterator[Fact]:
    for family in FAMILIES:
        yield from (Fact(family, values) for values in product(*family.slots))
