"""Ranker: what scores candidate replies; it cannot see which of them is the gold one."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from personae.errors import UserError
from personae.metrics import Ranking
from personae.metrics.normalize import normalize
from personae.registry import Registrable
from personae.text.dialogue import Dialogue


@dataclass(frozen=True)
class Question:
    """Candidate replies in an order drawn by chance, and the dialogue without anything that tells the gold one."""

    dialogue: Dialogue
    candidates: tuple[str, ...]


class Ranker(Registrable, ABC):
    """Scores candidate replies.

    ``floor``: it costs nothing and stands beside every ranker; ``needs_training``: it learns from a training split,
    its option ``training``.
    """

    floor: ClassVar[bool] = False
    needs_training: ClassVar[bool] = False

    def facts(self) -> Mapping[str, object]:
        """What the signatures of its numbers say beside its name."""
        return {}

    @abstractmethod
    def scores(self, questions: Sequence[Question]) -> list[Sequence[float]]:
        """For each question the scores (C) of its candidates, in their order; the higher the better."""

    def rank(self, dialogues: Sequence[Dialogue], seed: int = 0) -> list[Ranking]:
        """Rank the candidates of each dialogue: its gold reply and its distractors.

        A distractor that equals a gold reply after normalisation is right too, as in ParlAI. ``seed`` and the texts
        alone decide the order in which candidates are shown. Raises ``UserError`` where there are none.
        """
        require_candidates(dialogues)
        orders = [shuffled((each.response, *each.distractors), seed) for each in dialogues]
        questions = [ask(*pair) for pair in zip(dialogues, orders, strict=True)]
        found = zip(dialogues, orders, self.scores(questions), strict=True)
        return [to_ranking(dialogue, order, scores) for dialogue, order, scores in found]


def require_candidates(dialogues: Sequence[Dialogue]) -> None:
    """Refuse dialogues without distractors: there is nothing to rank."""
    lacking = [each for each in dialogues if not each.distractors]
    if lacking:
        raise UserError(
            f"{len(lacking):,} of {len(dialogues):,} examples have no candidates to rank, the first in "
            f"{lacking[0].conversation or 'a conversation without a name'}: score data with candidates, or leave out "
            f"--candidates"
        )


def shuffled(texts: Sequence[str], seed: int) -> list[int]:
    """Places of ``texts`` in an order that depends on them and the seed, never on how they stood."""
    order = sorted(range(len(texts)), key=lambda at: texts[at])
    random.Random("\n".join([str(seed), *(texts[at] for at in order)])).shuffle(order)
    return order


def ask(dialogue: Dialogue, order: Sequence[int]) -> Question:
    """The question, of which nothing tells the gold reply."""
    texts = (dialogue.response, *dialogue.distractors)
    bare = replace(dialogue, response="", references=(), distractors=(), evidence={}, answer=(), tags={})
    return Question(bare, tuple(texts[at] for at in order))


def to_ranking(dialogue: Dialogue, order: Sequence[int], scores: Sequence[float]) -> Ranking:
    """Scores in the order of the data again, those of right candidates apart."""
    given = dict(zip(order, map(float, scores), strict=True))
    golds = {normalize(text) for text in dialogue.golds}
    right = {at for at, text in enumerate(dialogue.distractors, 1) if normalize(text) in golds} | {0}
    wrong = tuple(given[at] for at in sorted(given) if at not in right)
    return Ranking(tuple(given[at] for at in sorted(right)), wrong)
