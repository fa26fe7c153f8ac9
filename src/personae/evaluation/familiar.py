"""What a run was trained on, and which examples of an evaluation have a persona that it knows."""

from collections.abc import Sequence

from personae.data.check import persona_set
from personae.data.load import Loaded, load
from personae.runs import Run
from personae.text.dialogue import Dialogue
from personae.training.corpus import part_of, read


def training_data(run: Run) -> Loaded:
    """The dialogues that ``run`` was trained on. Raises ``UserError`` where they cannot be read any more."""
    recipe = run.recipe()
    if recipe.data.generate is not None:  # written by training; never again, for that takes long
        data = load([run.folder / "data" / "train.jsonl"], "jsonl")
    else:
        data = read(recipe, run.folder)[0]
    return part_of(recipe, data)


def unseen_personas(dialogues: Sequence[Dialogue], training: Sequence[Dialogue]) -> list[int]:
    """Positions of the dialogues whose persona is none of ``training``; one without a persona is none too.

    Personas are compared as ``personae data check`` compares them: sets of sentences, no case or punctuation.
    """
    texts = {each.sources.get("persona", ()) for each in training}
    known = {persona_set(persona) for persona in texts if persona}
    return [at for at, each in enumerate(dialogues) if persona_set(each.sources.get("persona", ())) not in known]
