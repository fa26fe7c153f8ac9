"""What a conversation is about: its exchanges, the facts they ask for, when the partner tells his own."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from personae.data.interview.family import Fact
from personae.data.interview.splits import FAMILIES, draw_fact

PERSONA, CONTEXT, BOTH, NEITHER = "persona", "context", "both", "neither"
KINDS = (PERSONA, CONTEXT, BOTH, NEITHER)
SHARES = (50, 16, 16, 18)
DECOY_SHARE = 0.1


@dataclass(slots=True)
class Exchange:
    """A question and its reply.

    ``mine`` is the fact of oneself and ``partners`` that of the partner which the exchange is about; the
    partner tells it in exchange ``said_in``. A ``persona`` exchange with ``partners`` is a decoy: the partner
    tells his own value and asks for that of the other. ``statements`` is what the partner tells in this
    exchange for a later one.
    """

    kind: str
    mine: Fact | None = None
    partners: Fact | None = None
    said_in: int = -1
    statements: list[str] = field(default_factory=list)


def make_plan(generator: random.Random, split: str, persona: Sequence[Fact], exchanges: int) -> list[Exchange]:
    """Draw the exchanges of one conversation."""
    plan = [Exchange(kind) for kind in _kinds(generator, exchanges)]
    free = generator.sample(list(persona), len(persona))
    _assign_both(generator, split, plan, free)
    _assign_persona(generator, split, plan, free)
    _assign_context(generator, split, persona, plan, free)
    for number, exchange in enumerate(plan):
        _announce(generator, plan, number, exchange)
    return plan


def _kinds(generator: random.Random, exchanges: int) -> list[str]:
    """Draw the kinds; the first question can not ask for what was said before."""
    kinds = generator.choices(KINDS, SHARES, k=exchanges)
    if NEITHER in kinds and generator.random() < 0.5:
        kinds.insert(0, kinds.pop(kinds.index(NEITHER)))
    if kinds[0] == CONTEXT:
        other = next((place for place, kind in enumerate(kinds) if kind != CONTEXT), 0)
        kinds[0], kinds[other] = kinds[other], CONTEXT
    if kinds[0] == CONTEXT:
        kinds[0] = PERSONA
    return kinds


def _assign_both(generator: random.Random, split: str, plan: Sequence[Exchange], free: list[Fact]) -> None:
    """Half of these agree. Without a family that can be compared the exchange becomes a persona one."""
    for exchange in _of_kind(plan, BOTH):
        exchange.mine = next((fact for fact in free if fact.family.same), None)
        if exchange.mine is None:
            exchange.kind = PERSONA
            continue
        free.remove(exchange.mine)
        agree = generator.random() < 0.5
        exchange.partners = exchange.mine if agree else _rival(generator, split, exchange.mine)


def _assign_persona(generator: random.Random, split: str, plan: Sequence[Exchange], free: list[Fact]) -> None:
    for exchange in _of_kind(plan, PERSONA):
        exchange.mine = free.pop()
        if generator.random() < DECOY_SHARE:
            exchange.partners = _rival(generator, split, exchange.mine)


def _assign_context(
    generator: random.Random, split: str, persona: Sequence[Fact], plan: Sequence[Exchange], free: list[Fact]
) -> None:
    """About half of the partner's facts are of a family that the persona has too, with another value."""
    taken = {fact.family.name for fact in persona}
    families = generator.sample([one for one in FAMILIES if one.name not in taken], len(plan))
    for exchange in _of_kind(plan, CONTEXT):
        if free and generator.random() < 0.5:
            exchange.partners = _rival(generator, split, free.pop())
        else:
            exchange.partners = draw_fact(generator, families.pop(), split)


def _of_kind(plan: Sequence[Exchange], kind: str) -> list[Exchange]:
    return [exchange for exchange in plan if exchange.kind == kind]


def _rival(generator: random.Random, split: str, fact: Fact) -> Fact:
    """Draw a fact of the same family that shares no value with ``fact``."""
    while True:
        rival = draw_fact(generator, fact.family, split)
        if not set(rival.values) & set(fact.values):
            return rival


def _announce(generator: random.Random, plan: Sequence[Exchange], number: int, exchange: Exchange) -> None:
    """Choose where the partner tells his fact: earlier, or (never for context) right before the question."""
    if exchange.partners is None:
        return
    here = exchange.kind == PERSONA or (exchange.kind == BOTH and generator.random() < 0.5)
    exchange.said_in = number if here or number == 0 else generator.randrange(number)
    if exchange.said_in < number:
        said = exchange.partners.say(generator.choice(exchange.partners.family.sentences))
        plan[exchange.said_in].statements.append(said)
