"""Who talks to whom: two personae for each conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from personae.data.interview import generate
from personae.data.interview.splits import COMBINATIONS
from personae.data.load import load
from personae.errors import UserError
from personae.recipe import Recipe

Persona = tuple[str, ...]


@dataclass(frozen=True)
class Cast:
    """A conversation's name and its two personae; the first speaks first."""

    name: str
    personae: tuple[Persona, Persona]


def make_casts(recipe: Recipe, conversations: int, paths: Sequence[Path], seed: int) -> list[Cast]:
    """Casts of the personae in ``paths``, or of interview's unseen ones for a model trained on that corpus.

    Raises ``UserError`` where there are too few personae, or nobody knows whose to take.
    """
    if conversations < 1:
        raise UserError(f"--conversations {conversations}: hold 1 or more")
    wanted = 2 * conversations
    if paths:
        dialogues = load(paths).dialogues
        found = list(dict.fromkeys(each.sources.get("persona", ()) for each in dialogues))
        personae = [persona for persona in found if any(sentence.strip() for sentence in persona)][:wanted]
    elif recipe.data.generate is not None:
        personae = [tuple(each["persona"]) for each in generate(COMBINATIONS, wanted, seed)]
    else:
        raise UserError("who should talk? give --data FILE: its personae do")
    if len(personae) < wanted:
        raise UserError(f"{conversations} conversations need {wanted} personae, the data has {len(personae)}")
    pairs = zip(personae[::2], personae[1::2], strict=True)
    return [Cast(f"drift-{number}", pair) for number, pair in enumerate(pairs)]
