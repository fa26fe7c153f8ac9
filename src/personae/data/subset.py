"""Subset: which share of the training data a run is given, for training on little of it."""

import random
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

from personae.data.load import Loaded
from personae.errors import UserError
from personae.registry import Registrable


class Subset(Registrable, ABC):
    """Chooses a share of what was read."""

    drawn: ClassVar[str] = ""

    @abstractmethod
    def choose(self, loaded: Loaded, fraction: float, seed: int) -> Loaded:
        """``fraction`` (above 0, below 1) of ``loaded``, in file order. Raises ``UserError`` where it has no parts."""


@Subset.register("random")
class RandomConversations(Subset):
    """Whole conversations, drawn by seed; of one seed, a smaller share is part of every larger one."""

    drawn = "of the conversations, drawn by seed"

    def choose(self, loaded: Loaded, fraction: float, seed: int) -> Loaded:
        """At least one conversation."""
        names = loaded.conversations
        if len(names) < 2:
            raise UserError("data.fraction draws among conversations, but the training data has only one")
        random.Random(seed).shuffle(names)
        drawn = set(names[: share(len(names), fraction)])
        return replace(loaded, dialogues=[each for each in loaded.dialogues if each.conversation in drawn])


@Subset.register("longest-contexts")
class LongestContexts(Subset):
    """The examples with the longest contexts, whatever the seed: the published choice of PAA (its Figure 3).

    Long contexts are late turns: of ConvAI2 it takes other and harder examples than a sample has. Lengths are
    characters of the context's turns joined by a blank; of equally long ones the first in the file go first.
    """

    drawn = "of the examples, those with the longest contexts"

    def choose(self, loaded: Loaded, fraction: float, seed: int) -> Loaded:
        """At least one example."""
        lengths = [len(" ".join(each.sources.get("context", ()))) for each in loaded.dialogues]
        longest = sorted(range(len(lengths)), key=lambda at: -lengths[at])[: share(len(lengths), fraction)]
        return replace(loaded, dialogues=[loaded.dialogues[at] for at in sorted(longest)])


def share(count: int, fraction: float) -> int:
    """How many of ``count`` a fraction is, at least one."""
    return max(1, round(fraction * count))
