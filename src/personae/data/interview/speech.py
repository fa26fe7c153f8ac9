"""A plan becomes turns: partner and self in words, each reply with its evidence, answer and tags."""

import random
from collections.abc import Sequence
from typing import Any

from personae.data.interview import frames
from personae.data.interview.family import Fact
from personae.data.interview.plan import BOTH, CONTEXT, PERSONA, Exchange
from personae.text.dialogue import PARTNER, SELF

Turn = dict[str, Any]
Spoken = tuple[str, str, list[str]]  # question, reply, words that a right reply must contain


class Interview:
    """Speaks one conversation: exchange n becomes the turns 2n (partner) and 2n + 1 (self)."""

    def __init__(self, generator: random.Random, persona: Sequence[Fact], plan: Sequence[Exchange]) -> None:
        self.generator, self.persona, self.plan = generator, persona, plan
        self._small_talk: set[str] = set()

    def turns(self) -> list[Turn]:
        """Return all turns."""
        return [turn for number in range(len(self.plan)) for turn in self._exchange(number)]

    def _exchange(self, number: int) -> tuple[Turn, Turn]:
        exchange = self.plan[number]
        question, reply, answer = self._ask(number, exchange)
        opener = self.generator.choice(frames.REMARKS if number else frames.GREETINGS)
        statements = [self._aside(number) + said for said in exchange.statements]
        text = " ".join(part for part in (opener, *statements, question) if part)
        own = {"evidence": self._evidence(exchange), "answer": answer, "tags": self._tags(exchange, answer)}
        return {"role": PARTNER, "text": text}, {"role": SELF, "text": reply, **own}

    def _aside(self, number: int) -> str:
        return self.generator.choice(frames.ASIDES) if number else ""

    def _evidence(self, exchange: Exchange) -> dict[str, list[int]]:
        rests_on_context = exchange.kind in (CONTEXT, BOTH)
        return {
            "persona": [self.persona.index(exchange.mine)] if exchange.mine else [],
            "context": [2 * exchange.said_in] if rests_on_context else [],
        }

    def _ask(self, number: int, exchange: Exchange) -> Spoken:
        if exchange.kind == BOTH and exchange.mine and exchange.partners:
            return self._ask_both(exchange.mine, exchange.partners, exchange.said_in == number)
        if exchange.kind == CONTEXT and exchange.partners:
            return self._ask_context(exchange.partners)
        if exchange.kind == PERSONA and exchange.mine:
            return self._ask_persona(exchange.mine, exchange.partners)
        return self._ask_neither(number)

    def _ask_persona(self, mine: Fact, decoy: Fact | None) -> Spoken:
        question = self._pick(mine, mine.family.questions)
        if decoy:
            question = f"{self._pick(decoy, decoy.family.sentences)} and {question}"
        return question, self._pick(mine, mine.family.replies), list(mine.values)

    def _ask_context(self, partners: Fact) -> Spoken:
        question = self.generator.choice(frames.RECALL_QUESTIONS).format(topic=partners.family.topic)
        yours = partners.say(partners.family.yours)
        reply = self.generator.choice(frames.RECALL_REPLIES).format(yours=yours)
        return question, reply, list(partners.values)

    def _ask_both(self, mine: Fact, partners: Fact, here: bool) -> Spoken:
        question = mine.family.same
        if here:
            frame = self.generator.choice(frames.SAME_HERE).format(same=question)
            question = f"{self._pick(partners, partners.family.sentences)} {frame}"
        agree = mine == partners
        frame = self.generator.choice(frames.AGREE if agree else frames.DIFFER)
        reply = frame.format(mine=mine.say(mine.family.mine))
        return question, reply, ["yes" if agree else "no", *mine.values]

    def _ask_neither(self, number: int) -> Spoken:
        table = frames.SMALL_TALK
        if number == 0:
            table = frames.OPENING
        elif number == len(self.plan) - 1:
            table = frames.CLOSING
        fresh = [question for question in table if question not in self._small_talk]
        question = self.generator.choice(fresh or list(table))
        self._small_talk.add(question)
        return question, table[question], []

    def _pick(self, fact: Fact, templates: Sequence[str]) -> str:
        return fact.say(self.generator.choice(templates))

    def _tags(self, exchange: Exchange, answer: Sequence[str]) -> dict[str, str]:
        """Kind and family of a reply, and ``others``: the words, joined by "|", that make a reply wrong.

        These are the other values of the family, every other value told in this conversation (so that
        reciting a whole source is wrong) and, for ``both``, the opposite of "yes" or "no".
        """
        fact = exchange.mine or exchange.partners
        if fact is None:
            return {"kind": exchange.kind, "family": ""}
        opposite = ["no" if answer[0] == "yes" else "yes"] if exchange.kind == BOTH else []
        told = [*self.persona, *(one.partners for one in self.plan if one.partners)]
        rivals = [*opposite, *fact.family.words, *(word for one in told for word in one.values)]
        others = dict.fromkeys(word for word in rivals if word not in answer)
        return {"kind": exchange.kind, "family": fact.family.name, "others": "|".join(others)}
