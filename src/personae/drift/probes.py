"""Probes: questions about the persona that are asked beside the conversation and do not enter it."""

import random
from collections.abc import Sequence

from personae.data.interview.facts import recognise
from personae.data.interview.family import Fact
from personae.drift.selfchat import Answering, Conversation
from personae.metrics import Reply


def facts_of(persona: Sequence[str]) -> list[Fact]:
    """The facts of interview that a persona states; none for a persona of another corpus."""
    return [fact for fact in map(recognise, persona) if fact is not None]


def probe(conversations: Sequence[Conversation], answer: Answering, seed: int) -> list[Reply]:
    """Ask whoever spoke last in each conversation for every fact of its persona.

    The replies are ready for the metric ``persona_accuracy``: other values of the family, and values of any other
    fact of the two personae, make one wrong.
    """
    asked = [(each, fact) for each in conversations for fact in facts_of(each.cast.personae[each.last])]
    if not asked:
        return []
    dialogues = [each.heard(each.last, question(each, fact, seed)) for each, fact in asked]
    said = answer(dialogues)
    return [reply_of(each, fact, text) for (each, fact), text in zip(asked, said, strict=True)]


def question(conversation: Conversation, fact: Fact, seed: int) -> str:
    """One of the family's questions, drawn by seed, conversation and turn: the same for every model."""
    key = f"{seed}-{conversation.cast.name}-{len(conversation.turns)}-{fact.key}"
    return random.Random(key).choice(fact.family.questions)


def reply_of(conversation: Conversation, fact: Fact, text: str) -> Reply:
    """A reply with what makes it right and what wrong."""
    told = [other for persona in conversation.cast.personae for other in facts_of(persona)]
    words = [*fact.family.words, *(word for other in told for word in other.values)]
    others = dict.fromkeys(word for word in words if word not in fact.values)
    return Reply(
        prediction=text,
        references=(),
        conversation=conversation.cast.name,
        answer=fact.values,
        tags={"kind": "persona", "family": fact.family.name, "others": "|".join(others)},
    )
