"""Packed dialogues in memory, and the candidate replies that go with them."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from torch.utils.data import Dataset

from personae.errors import UserError
from personae.text.dialogue import Dialogue
from personae.text.pack import REPLY, Packed, Packer

TRIES = 100


class PackedDataset(Dataset[Packed]):
    """Packed dialogues in memory."""

    def __init__(self, examples: Sequence[Packed]) -> None:
        self.examples = list(examples)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> Packed:
        return self.examples[index]


class Clock(Protocol):
    """What knows the epoch."""

    epoch: int


class Replies:
    """What could be said instead of each dialogue's gold reply: its own distractors, then others' gold replies.

    Replies stand as ids, each once, and are known by their number. Distractors over the reply's budget are left
    out, counted in ``long``. Raises ``UserError`` where some dialogue cannot get ``count`` wrong replies.
    """

    def __init__(self, packer: Packer, dialogues: Sequence[Dialogue], count: int) -> None:
        self.packer, self.count, self.long = packer, count, 0
        self.ids: list[list[int]] = []
        self._number: dict[str, int] = {}
        self.right = [[self._add(text) for text in each.golds] for each in dialogues]
        self.own = [self._distractors(*pair) for pair in zip(dialogues, self.right, strict=True)]
        # A dialogue of no known conversation is one of its own.
        self.talks = [each.conversation or f"dialogue {at}" for at, each in enumerate(dialogues)]
        self.lacking = [at for at, own in enumerate(self.own) if len(own) < count]
        self._check()

    def draw(self, at: int, chance: random.Random) -> list[list[int]]:
        """``count`` different wrong replies to dialogue ``at``."""
        own = self.own[at]
        chosen = chance.sample(own, min(self.count, len(own)))
        return [self.ids[number] for number in self._fill(at, chosen, chance)]

    def _fill(self, at: int, chosen: list[int], chance: random.Random) -> list[int]:
        """``chosen`` and what other conversations' dialogues answer: the oftener they say it, the likelier."""
        for _ in range(TRIES * self.count):
            if len(chosen) == self.count:
                return chosen
            other = chance.randrange(len(self.right))
            number = self.right[other][0]
            if self.talks[other] != self.talks[at] and number not in chosen and number not in self.right[at]:
                chosen.append(number)
        rest = {right[0] for right, talk in zip(self.right, self.talks, strict=True) if talk != self.talks[at]}
        return chosen + chance.sample(sorted(rest - {*chosen, *self.right[at]}), self.count - len(chosen))

    def _add(self, text: str) -> int:
        """The number of a reply."""
        words = text.strip()
        if words not in self._number:
            self._number[words] = len(self.ids)
            self.ids.append([*self.packer.encode(words), int(self.packer.tokenizer.eos_token_id)])
        return self._number[words]

    def _distractors(self, dialogue: Dialogue, right: Sequence[int]) -> list[int]:
        numbers = dict.fromkeys(self._add(text) for text in dialogue.distractors if text.strip())
        wrong = [number for number in numbers if number not in right]
        short = [number for number in wrong if len(self.ids[number]) <= self.packer.budgets[REPLY]]
        self.long += len(wrong) - len(short)
        return short

    def _check(self) -> None:
        """Refuse data in which some dialogue would not find enough."""
        said: dict[str, set[int]] = {}
        for talk, right in zip(self.talks, self.right, strict=True):
            said.setdefault(talk, set()).add(right[0])
        talks = Counter(number for numbers in said.values() for number in numbers)
        only = {talk: sum(talks[number] == 1 for number in numbers) for talk, numbers in said.items()}
        for at in self.lacking:
            taken = {number for number in {*self.own[at], *self.right[at]} if self._elsewhere(number, at, talks, said)}
            if len(talks) - only[self.talks[at]] - len(taken) + len(self.own[at]) < self.count:
                raise UserError(
                    f"train.candidates={self.count + 1}: a dialogue has {len(self.own[at])} distractors, and other "
                    f"conversations too few replies to fill up: lower it, or give more conversations"
                )

    def _elsewhere(self, number: int, at: int, talks: Counter[int], said: dict[str, set[int]]) -> bool:
        """Whether another conversation than that of ``at`` says reply ``number``."""
        return talks[number] > (number in said[self.talks[at]])


class CandidateDataset(PackedDataset):
    """Packed dialogues, each with candidate replies: wrong ones, and the gold one at a place that chance decides.

    What is drawn depends on seed, epoch and the example's position alone, so that a run can be resumed exactly.
    ``end`` follows each candidate.
    """

    def __init__(self, examples: Sequence[Packed], replies: Replies, seed: int, end: Sequence[int] = ()) -> None:
        super().__init__(examples)
        self.replies, self.seed, self.end = replies, seed, list(end)
        self.clock: Clock | None = None

    def __getitem__(self, index: int) -> Packed:
        epoch = 0 if self.clock is None else self.clock.epoch
        chance = random.Random(f"{self.seed}/{epoch}/{index}")
        packed = self.examples[index]
        candidates = self.replies.draw(index, chance)
        gold = chance.randrange(len(candidates) + 1)
        candidates.insert(gold, packed.reply)
        return replace(packed, candidates=[[*reply, *self.end] for reply in candidates], gold=gold)

    def facts(self) -> dict[str, int]:
        """For the run's report."""
        return {
            "per_example": self.replies.count + 1,
            "examples_filled_from_other_conversations": len(self.replies.lacking),
            "distractors_over_budget_left_out": self.replies.long,
        }
