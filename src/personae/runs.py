"""A run's folder: its recipe, its model, its tokenizer. What training writes and everything else reads."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import AutoConfig, PreTrainedTokenizerFast

from personae.errors import UserError
from personae.models import DialogueModel
from personae.recipe import Recipe, read_recipe
from personae.text.pack import Packer
from personae.text.tokenizer import load_tokenizer


class Run:
    """The folder of one run: ``recipe.yaml``, ``model/`` (best so far), ``checkpoints/``, ``report.json``."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    @property
    def recipe_file(self) -> Path:
        """The resolved recipe."""
        return self.folder / "recipe.yaml"

    @property
    def model_folder(self) -> Path:
        """Weights, configuration and tokenizer of the best model."""
        return self.folder / "model"

    @property
    def checkpoints(self) -> Path:
        """Checkpoints to resume from."""
        return self.folder / "checkpoints"

    @property
    def report_file(self) -> Path:
        """Written at the end of training."""
        return self.folder / "report.json"

    def recipe(self) -> Recipe:
        """The recipe of this run. Raises ``UserError`` where the folder is no run."""
        if not self.recipe_file.is_file():
            raise UserError(f"{self.folder} is no run (no recipe.yaml): train one with personae train RECIPE --out RUN")
        return read_recipe(self.recipe_file)

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer that the model was trained with."""
        return load_tokenizer(self._model_part("tokenizer.json").parent)

    def model(self) -> DialogueModel:
        """The best model, in eval mode. Raises ``UserError`` for a missing, foreign or broken checkpoint."""
        weights = self._model_part("model.safetensors")
        kind = DialogueModel.get(self.recipe().model.name)
        try:
            config = AutoConfig.from_pretrained(weights.parent)
            if config.model_type != kind.model_type():
                raise UserError(f"{weights.parent} holds a '{config.model_type}' model, not '{kind.name}'")
            loaded: Any = kind.from_pretrained(weights.parent, config=config, output_loading_info=True)
        except UserError:
            raise
        except (SafetensorError, RuntimeError, OSError, ValueError, TypeError, StrictDataclassError) as error:
            if "ignore_mismatched_sizes" in str(error):  # what transformers says of keys of another shape
                raise UserError(f"{weights} is the checkpoint of another model: its sizes do not fit") from error
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"{weights} is damaged or half-written ({first}): train again or --resume") from error
        model, told = loaded
        wrong = sorted([*told["missing_keys"], *told["unexpected_keys"]])
        if wrong:
            raise UserError(
                f"{weights} is the checkpoint of another model: {len(wrong)} keys do not fit, first {wrong[0]}"
            )
        return cast(DialogueModel, model.eval())

    def packer(self, tokenizer: PreTrainedTokenizerFast) -> Packer:
        """The packer that the model was trained with."""
        return make_packer(self.recipe(), tokenizer)

    def save_model(self, model: DialogueModel, tokenizer: PreTrainedTokenizerFast) -> None:
        """Replace the best model; the old one stays whole until the new one is."""
        fresh, old = self.folder / "model.new", self.folder / "model.old"
        self._finish_replacing()
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            model.save_pretrained(fresh)
            tokenizer.save_pretrained(fresh)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise UserError(f"cannot save the model to {fresh}: {error}; the last one is kept") from error
        if self.model_folder.exists():
            self.model_folder.replace(old)
        fresh.replace(self.model_folder)
        shutil.rmtree(old, ignore_errors=True)

    def write_json(self, name: str, content: Mapping[str, Any]) -> Path:
        """Write ``name`` so that a reader sees the old or the new content, never half."""
        return write_json(self.folder / name, content)

    def _finish_replacing(self) -> None:
        """Take back the old model where a crash fell between the two renames of ``save_model``."""
        old = self.folder / "model.old"
        if old.exists() and not self.model_folder.exists():
            old.replace(self.model_folder)
        shutil.rmtree(old, ignore_errors=True)

    def _model_part(self, name: str) -> Path:
        self.recipe()
        if not self.model_folder.exists():
            self._finish_replacing()
        part = self.model_folder / name
        if not part.is_file():
            raise UserError(f"{part} is missing: the run has no finished model; continue it with --resume")
        return part


def make_packer(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> Packer:
    """The packer that a recipe asks for."""
    text, model = recipe.text, recipe.model
    return Packer(tokenizer, model.sources, model.prompt, text.budgets, text.types, text.marks, text.turns, text.window)


def write_json(path: Path, content: Mapping[str, Any]) -> Path:
    """Write JSON through a temporary file beside ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return fresh.replace(path)
