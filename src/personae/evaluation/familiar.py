"""What a run was trained on, and which examples of an evaluation have a persona that it knows."""

from collections.abc import Sequence

from personae.data.check import persona_set
from personae.data.load import Loaded, load
from personae.runs import Run
from personae.text.dialogue import Dialogue


def training_data(run: Run) -> Loaded:
    """The dialogues that ``run`` was trained on. Raises ``UserError`` where they cannot be read any more."""
    recipe = run.recipe()
    if recipe.data.generate is not None:
        loaded = load([run.folder / "data" / "train.jsonl"], "jsonl")
    else:
        loaded = load(recipe.data.train, recipe.data.reader, recipe.data.on_error)
    return Loaded(loaded.first(recipe.data.conversations, recipe.train.seed), loaded.sha256, loaded.skipped)


def unseen(dialogues: Sequence[Dialogue], training: Sequence[Dialogue]) -> list[int]:
    """Positions of the dialogues whose persona is none of ``training``; one without a persona is none too.

    Personas are compared as ``personae data check`` compares them: sets of sentences, no case or punctuation.
    """
    known = {persona_set(persona) for persona in {each.sources.get("persona", ()) for each in training}}
    return [at for at, each in enumerate(dialogues) if persona_set(each.sources.get("persona", ())) not in known]
