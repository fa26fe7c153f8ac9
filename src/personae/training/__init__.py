"""Training: a recipe becomes a run."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import PrinterCallback, set_seed

from personae.errors import UserError
from personae.models import DialogueModel
from personae.recipe import Recipe
from personae.runs import Run
from personae.text.pack import REPLY, parts_of
from personae.training.checkpoints import MarkComplete, newest_checkpoint
from personae.training.corpus import Corpus, prepare
from personae.training.curve import draw_curve
from personae.training.start import start_from
from personae.training.trainer import DialogueTrainer, Report, TimeBudget

Tell = Callable[[int, int, dict[str, float]], None]


def train(recipe: Recipe, folder: Path, resume: bool = False, tell: Tell | None = None) -> dict[str, Any]:
    """Train ``recipe`` into ``folder`` and return the run's report, which is also ``report.json`` there.

    With ``resume`` a run that was interrupted goes on from its newest whole checkpoint, exactly as if it had
    not been. ``tell(step, of, values)`` hears every log line. Raises ``UserError`` where the folder holds
    another run, the data cannot be read, or the model cannot be saved.
    """
    candidate_end = check_model(recipe).candidate_end
    run = open_run(recipe, folder, resume)
    set_seed(recipe.train.seed)
    with PartialState(cpu=not torch.cuda.is_available()).main_process_first():
        corpus = prepare(recipe, run.folder, candidate_end)
    model, weights = make_model(recipe, corpus)
    trainer = DialogueTrainer(model, corpus, recipe.train, run, callbacks=[MarkComplete(recipe.train.keep)])
    trainer.remove_callback(PrinterCallback)
    if recipe.train.minutes is not None:
        trainer.add_callback(TimeBudget(recipe.train.minutes))
    if tell is not None:
        trainer.add_callback(Report(tell))
    if trainer.is_world_process_zero() and not resume:
        run.write_json("data.json", fingerprint(corpus))
        recipe.write(run.recipe_file)  # so late that what fails before leaves no run behind
    elif resume:
        check_data(run, corpus)
    checkpoint = newest_checkpoint(run.checkpoints) if resume else None
    start = time.monotonic()
    run_trainer(trainer, checkpoint)
    first = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
    report = make_report(trainer, model, corpus, weights, time.monotonic() - start, first)
    if trainer.is_world_process_zero():
        run.write_json("report.json", report)
        draw_curve(trainer.state.log_history, run.folder / "loss.png")
    return report


def open_run(recipe: Recipe, folder: Path, resume: bool) -> Run:
    """The folder of a new run, or with ``resume`` of the same run."""
    run = Run(folder)
    if resume:
        differing = changed(asdict(run.recipe()), asdict(recipe))
        if differing:
            raise UserError(f"{folder} was trained with another {', '.join(differing)}: resume with the same recipe")
        return run
    if run.recipe_file.exists():
        raise UserError(f"{folder} already holds a run: choose another --out, or continue it with --resume")
    folder.mkdir(parents=True, exist_ok=True)
    return run


def fingerprint(corpus: Corpus) -> dict[str, str]:
    """Hashes of the data files, by split."""
    return {split: corpus.report[split]["sha256"] for split in ("train", "valid")}


def check_data(run: Run, corpus: Corpus) -> None:
    """Refuse to go on with data that changed since the run began: it would not be the same run."""
    before = json.loads((run.folder / "data.json").read_text(encoding="utf-8"))
    for split, sha256 in fingerprint(corpus).items():
        if before[split] != sha256:
            raise UserError(f"the {split} data changed since {run.folder} began: put it back, or train another --out")


def changed(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Keys ``section.name`` whose values differ."""
    return [f"{part}.{key}" for part in one for key in one[part] if one[part][key] != other[part][key]]


def check_model(recipe: Recipe) -> DialogueModel:
    """Refuse a model that no data could make right, before anything is read or written; it has no weights."""
    chosen, ids = recipe.model, {"vocab_size": 3, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    kind = DialogueModel.get(chosen.name)
    with torch.device("meta"):
        model = kind.create(chosen.sources, chosen.fusion, ids, chosen.options)
    check_candidates(recipe, model)
    if model.objectives and recipe.train.accumulation > 1:
        raise UserError(
            f"train.accumulation={recipe.train.accumulation}: this model takes several steps on a batch, "
            f"{' and '.join(model.objectives)}: set train.accumulation=1"
        )
    check_window(recipe, model.window, 0 if model.candidate_end is None else 1)
    return model


def check_candidates(recipe: Recipe, model: DialogueModel) -> None:
    """Refuse candidates that nobody would read, and a head without any to learn from."""
    count = recipe.train.candidates
    if count and not model.ranks:
        raise UserError(
            f"train.candidates={count} needs a head that reads them: model.name=fused with "
            f"model.options.candidate_head=choice or binary; or set train.candidates=0"
        )
    if model.ranks and not count:
        raise UserError("the candidate head has nothing to learn from: set train.candidates=2, or more")


def make_model(recipe: Recipe, corpus: Corpus) -> tuple[DialogueModel, list[str]]:
    """The recipe's model for the corpus's vocabulary, and what loading weights had to say."""
    tokenizer = corpus.tokenizer
    ids = {
        "vocab_size": len(tokenizer),
        "bos_token_id": int(tokenizer.bos_token_id),
        "eos_token_id": int(tokenizer.eos_token_id),
        "pad_token_id": int(tokenizer.pad_token_id),
    }
    chosen = recipe.model
    model = DialogueModel.get(chosen.name).create(chosen.sources, chosen.fusion, ids, chosen.options)
    model.read_corpus(tokenizer, corpus.train.examples)
    if recipe.train.start_from is not None:
        return model, start_from(model, recipe.train.start_from).lines()
    if chosen.weights is None:
        return model, []
    return model, model.load_decoder(chosen.weights).lines()


def check_window(recipe: Recipe, window: dict[str, int], more: int = 0) -> None:
    """Refuse budgets that the model has no positions for; ``more``: tokens after the reply."""
    budgets = recipe.text.budgets
    most = recipe.text.window
    needed = {name: input_size(parts_of(name), [row_size(name, budgets)], most) for name in recipe.model.sources}
    prompt = input_size(recipe.model.prompt, [row_size(name, budgets) for name in recipe.model.prompt], most)
    needed["decoder"] = prompt + row_size(REPLY, budgets) + 1 + more
    for name, size in needed.items():
        if size > window[name]:
            key = "decoder.n_positions" if name == "decoder" else "encoder.max_position_embeddings"
            raise UserError(
                f"text.budgets ask for {size} tokens in '{name}', the model has {window[name]} positions: "
                f"lower the budgets or raise model.options.{key}"
            )


def input_size(names: Sequence[str], sizes: Sequence[int], window: int | None) -> int:
    """The most tokens of rows of these sizes: ``window`` where several sources share it."""
    return sum(sizes) if window is None or len(names) < 2 else min(sum(sizes), window)


def row_size(name: str, budgets: dict[str, int]) -> int:
    """The most tokens of one input, separators between the sources of a joint one included."""
    return sum(budgets.get(part, 0) + 1 for part in parts_of(name)) - 1


def run_trainer(trainer: DialogueTrainer, checkpoint: Path | None) -> None:
    """Train, and validate the last step where that was not done; what cannot be written is one line."""
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        step = trainer.state.global_step
        if not any(line["step"] == step and "eval_loss" in line for line in trainer.state.log_history):
            trainer.evaluate()
    except OSError as error:
        raise UserError(f"training stopped: {error}; put it right and --resume") from error


def make_report(
    trainer: DialogueTrainer, model: DialogueModel, corpus: Corpus, weights: list[str], seconds: float, first: int
) -> dict[str, Any]:
    """What a reader of the run should know; ``seconds``: since step ``first``, validation included."""
    history, steps = trainer.state.log_history, trainer.state.global_step
    passes = (trainer.state.epoch or 0.0) * (steps - first) / max(steps, 1)
    tokens = corpus.report["train"]["tokens"]
    evaluations = [line for line in history if "eval_loss" in line]
    best = min(evaluations, key=lambda line: line["eval_loss"])
    return {
        "steps": steps,
        "seconds": round(seconds, 1),
        "tokens_per_second": round(passes * tokens / max(seconds, 1e-3)),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "parameters": model.num_parameters(),
        "vocabulary": len(corpus.tokenizer),
        "precision": "bf16" if trainer.args.bf16 else "fp32",
        "best": best,
        "last": evaluations[-1],
        "weights": weights,
        "data": corpus.report,
        "history": history,
    }
