"""Training that starts from another run's weights and words."""

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from personae.errors import UserError
from personae.models import DialogueModel
from personae.models.base import LoadReport
from personae.runs import Run


def start_from(model: DialogueModel, folder: str) -> LoadReport:
    """Give ``model`` the weights of the run in ``folder``; what that run lacks, such as a new head, stays at random.

    Raises ``UserError`` where the run has weights that do not fit: it is of another model.
    """
    theirs, ours = Run(folder).model().state_dict(), model.state_dict()
    wrong = sorted(key for key, value in theirs.items() if key not in ours or ours[key].shape != value.shape)
    if wrong:
        raise UserError(
            f"train.start_from={folder} is another model: {len(wrong)} of its {len(theirs)} weights do not fit, first "
            f"{wrong[0]}; take its recipe: personae train {Path(folder) / 'recipe.yaml'} train.start_from={folder}"
        )
    model.load_state_dict(theirs, strict=False)
    return LoadReport(missing=tuple(sorted(ours.keys() - theirs.keys())), unexpected=(), reshaped=())


def same_words(tokenizer: PreTrainedTokenizerFast, folder: str) -> PreTrainedTokenizerFast:
    """``tokenizer``, which has the words of the run in ``folder``, each with the same number."""
    if tokenizer.get_vocab() != Run(folder).tokenizer().get_vocab():
        raise UserError(f"train.start_from={folder} was trained with other words: leave out text.tokenizer")
    return tokenizer
