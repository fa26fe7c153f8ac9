"""transformers' Trainer for dialogue models: exact validation, the best model kept, closed sources said."""

import math
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from personae.errors import UserError
from personae.fusion import Fusion
from personae.models import DialogueModel
from personae.recipe import TrainRecipe
from personae.runs import Run
from personae.text.collate import Collator
from personae.training.batches import BucketSampler
from personae.training.corpus import Corpus
from personae.training.examples import CandidateDataset
from personae.training.turns import keep_moving
from personae.training.validation import Choices, OpenShares, batches, perplexity, validate

CLOSED = 0.01


class ClosedSources(UserWarning):
    """Almost no entry of any source's contribution is open."""


def has_bf16() -> bool:
    """Whether this machine multiplies bf16 in hardware."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def arguments(train: TrainRecipe, run: Run, steps_per_epoch: int) -> TrainingArguments:
    """The Trainer's settings for a recipe."""
    if train.precision == "bf16" and not has_bf16():
        raise UserError("train.precision=bf16: this machine has no bf16 units; set train.precision=fp32")
    total = train.steps or math.ceil(train.epochs * steps_per_epoch)
    try:
        return TrainingArguments(
            output_dir=str(run.checkpoints),
            num_train_epochs=train.epochs,
            max_steps=train.steps or -1,
            per_device_train_batch_size=train.batch // train.accumulation,
            gradient_accumulation_steps=train.accumulation,
            learning_rate=train.lr,
            lr_scheduler_type=train.schedule,
            warmup_steps=round(train.warmup * total),
            weight_decay=train.weight_decay,
            max_grad_norm=train.clip,
            use_cpu=not torch.cuda.is_available(),
            bf16=train.precision == "bf16" or (train.precision == "auto" and has_bf16()),
            eval_strategy="steps",
            eval_steps=train.evaluate_every,
            save_steps=train.save_every,
            metric_for_best_model="eval_loss",
            greater_is_better=False,
            logging_steps=train.log_every,
            logging_first_step=True,
            report_to=["tensorboard"],
            seed=train.seed,
            disable_tqdm=True,
            remove_unused_columns=False,
            dataloader_pin_memory=torch.cuda.is_available(),
            ddp_find_unused_parameters=False,
        )
    except ValueError as error:
        raise UserError(f"train: {str(error).splitlines()[0]}") from error


def fusion_parameters(model: Any) -> set[torch.nn.Parameter]:
    """The parameters of every fusion in ``model``."""
    return {one for module in model.modules() if isinstance(module, Fusion) for one in module.parameters()}


def split_rate(optimizer: torch.optim.Optimizer, chosen: set[torch.nn.Parameter], times: float) -> None:
    """Move ``chosen`` parameters into groups of their own whose learning rate is ``times`` as high."""
    for group in list(optimizer.param_groups):
        moved = [one for one in group["params"] if one in chosen]
        if moved:
            group["params"] = [one for one in group["params"] if one not in chosen]
            optimizer.add_param_group({**group, "params": moved, "lr": times * group["lr"]})


class DialogueTrainer(Trainer):
    """Trainer whose validation is exact and whose best model is kept apart from checkpoints."""

    def __init__(self, model: DialogueModel, corpus: Corpus, train: TrainRecipe, run: Run, **kwargs: Any) -> None:
        self.recipe, self.run, self.corpus = train, run, corpus
        self.part = train.batch // train.accumulation
        self.collate = Collator(int(corpus.tokenizer.pad_token_id), source_labels=model.reads_sources)
        steps = math.ceil(len(corpus.train) / (train.batch * int(os.environ.get("WORLD_SIZE", "1"))))
        self.terms: dict[str, float] = {}
        self.steps = 0
        super().__init__(
            model=model,
            args=arguments(train, run, steps),
            train_dataset=corpus.train,
            eval_dataset=corpus.valid,
            data_collator=self.collate,
            **kwargs,
        )

    def _get_train_sampler(self, train_dataset: Any = None) -> BucketSampler:
        lengths = [packed.length for packed in self.corpus.train.examples]
        sampler = BucketSampler(lengths, self.part, self.recipe.seed, self.recipe.buckets)
        if isinstance(self.corpus.train, CandidateDataset):
            self.corpus.train.clock = sampler
        return sampler

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> Any:
        """The parts of one optimiser step; each learns how many examples all have, for losses per example."""
        parts, items = super().get_batch_samples(*args, **kwargs)
        ranked = [part for part in parts if "candidates" in part]
        examples = sum(len(part["labels"]) for part in ranked) * self.accelerator.num_processes
        for part in ranked:
            part["candidates"]["examples"] = examples
        return parts, items

    def create_optimizer(self, *args: Any, **kwargs: Any) -> Any:
        """Trainer's optimiser; the fusion's parameters get ``fusion_rate`` times the learning rate."""
        fresh = self.optimizer is None
        optimizer = super().create_optimizer(*args, **kwargs)
        if fresh and self.recipe.fusion_rate != 1.0:
            split_rate(optimizer, fusion_parameters(self.model), self.recipe.fusion_rate)
        return optimizer

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """Backward of one part. Of losses minimised in turn, all but the last get their optimiser step here."""
        own: DialogueModel = self.accelerator.unwrap_model(self.model)
        own.begin_step(self.state.global_step)
        *before, last = [{"objective": each} for each in own.objectives] or [{}]
        losses = []
        for objective in before:
            losses.append(super().training_step(model, {**inputs, **objective}, num_items_in_batch))
            self._turn(model, own.keeps_moving)
        losses.append(super().training_step(model, {**inputs, **last}, num_items_in_batch))
        if own.keeps_moving:
            keep_moving(self._optimizer)
        self.steps += self.accelerator.sync_gradients
        return torch.stack(losses).sum()

    def _turn(self, model: Any, moving: bool) -> None:
        """What the Trainer does after a batch, for a loss that is not the last."""
        if moving:
            keep_moving(self._optimizer)
        if self.args.max_grad_norm:
            self.accelerator.clip_grad_norm_(model.parameters(), self.args.max_grad_norm)
        self._optimizer.step()
        model.zero_grad()

    @property
    def _optimizer(self) -> Any:
        """The optimiser without accelerate's wrapper."""
        return getattr(self.optimizer, "optimizer", self.optimizer)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The model's loss; its terms are kept for the log."""
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        if len(outputs.terms) > 1 or "objective" in inputs:
            for name, value in outputs.terms.items():
                self.terms[name] = self.terms.get(name, 0.0) + float(value) * self.accelerator.num_processes
        return (loss, outputs) if return_outputs else loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Beside the loss, every term of it, per step since the last log; the parts of a step add up."""
        logs.pop("train_loss", None)  # a mean over the steps of this process alone: wrong after a resume
        if "loss" in logs and self.terms:
            sums = torch.tensor(list(self.terms.values()), dtype=torch.float64, device=self.args.device)
            means: Any = self.accelerator.reduce(sums / max(self.steps, 1), "mean")
            logs |= {f"loss/{name}": value for name, value in zip(self.terms, means.tolist(), strict=True)}
        if "loss" in logs:
            self.terms, self.steps = {}, 0
        super().log(logs, start_time)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Nats and perplexity per token over the whole validation set, right choices; keeps the best model."""
        model: DialogueModel = self.accelerator.unwrap_model(self.model)
        was_training = model.training
        model.train(False)
        data = (self._prepare_inputs(batch) for batch in batches(self.corpus.valid, self.part, self.collate))
        choices = Choices()
        with self.accelerator.autocast(), OpenShares(model) as shares:
            nats, tokens = validate(model, shares.counted(data), choices)
        model.train(was_training)
        metrics = {
            "eval_loss": nats / tokens,
            "eval_perplexity": perplexity(nats / tokens),
            **choices.metrics(),
            **self._opened(shares),
        }
        self.log(metrics)
        if nats / tokens < (math.inf if self.state.best_metric is None else self.state.best_metric):
            self._keep(model)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        try:
            super()._save_checkpoint(model, trial)
        except (OSError, RuntimeError, SafetensorError) as error:  # RuntimeError: torch.save on a full disk
            reason = " ".join(str(error).split())
            raise UserError(
                f"cannot save a checkpoint to {self.args.output_dir}: {reason}; make room and --resume"
            ) from error

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """A tied table is saved once and is not missing; anything else that does not fit is an error."""
        model: DialogueModel = self.accelerator.unwrap_model(self.model)
        wrong = sorted({*load_result.missing_keys, *load_result.unexpected_keys} - {*model.all_tied_weights_keys})
        if wrong:
            raise UserError(
                f"the checkpoint in {self.args.output_dir} is of another model: {len(wrong)} keys do not fit, "
                f"first {wrong[0]}"
            )
        model.tie_weights()

    def _keep(self, model: DialogueModel) -> None:
        if self.args.should_save:
            self.run.save_model(model, self.corpus.tokenizer)

    def _opened(self, shares: OpenShares) -> dict[str, float]:
        model: DialogueModel = self.accelerator.unwrap_model(self.model)
        layers = shares.shares(model.voices)
        if layers and all(share < CLOSED for layer in layers for share in layer.values()):
            warnings.warn(
                "less than 1 % of every source's contribution is open in every layer: the model answers almost "
                "without its sources; choose a fusion that opens its masks: personae list fusions",
                ClosedSources,
                stacklevel=2,
            )
        return {f"open/{name}/layer{at}": share for at, layer in enumerate(layers) for name, share in layer.items()}


class TimeBudget(TrainerCallback):
    """Stops after ``minutes`` of this process."""

    def __init__(self, minutes: float) -> None:
        self.seconds, self.start = 60 * minutes, time.monotonic()

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Ask to stop when the time is spent."""
        if time.monotonic() - self.start > self.seconds:
            control.should_training_stop = control.should_save = control.should_log = True


class Report(TrainerCallback):
    """Hands every log line to a function, for progress bars."""

    def __init__(self, tell: Callable[[int, int, dict[str, float]], None]) -> None:
        self.tell = tell

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **_: Any) -> None:
        """``tell(step, of, values)``."""
        if state.is_world_process_zero:
            self.tell(state.global_step, state.max_steps, dict(logs or {}))
