"""A search as a ``custom_generate`` of transformers. Shapes: see ``task``; T prompt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import (
    EosTokenCriteria,
    GenerationConfig,
    LogitsProcessorList,
    MaxLengthCriteria,
    StoppingCriteriaList,
)
from transformers.generation import GenerateBeamDecoderOnlyOutput
from transformers.generation.configuration_utils import GenerationMode

from personae.decoding.task import Found, Halt, Task
from personae.errors import UserError

# Settings of ``generate`` that a search here has no use for, with the values that they have when left alone.
NOT_OFFERED: dict[str, Any] = {
    "early_stopping": False,
    "length_penalty": 1.0,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_logits": False,
    "output_scores": False,
}


@dataclass(frozen=True)
class CustomSearch:
    """Lets ``generate(custom_generate=...)`` run ``search`` with its exponent ``length_penalty``.

    It takes the number of beams, copies and tokens, the special tokens, the logits processors and the stopping
    criteria from ``generate``, and returns (B * copies, T + n) ids, n those of the longest reply; with
    ``return_dict_in_generate`` also ``sequences_scores``. Raises ``UserError`` for settings that it would have to
    ignore.
    """

    search: Callable[[Task, float], Found]
    length_penalty: float

    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        **model_kwargs: Any,
    ) -> Any:
        """``input_ids`` (R, T): every prompt once for each beam. Ids, or ``GenerateBeamDecoderOnlyOutput``."""
        check(generation_config)
        beams, keep = int(generation_config.num_beams), int(generation_config.num_return_sequences or 1)
        prompts, eos = input_ids[::beams], end_tokens(generation_config, input_ids.device)
        task = Task(
            step=ModelSteps(model, input_ids, logits_processor, generation_config, model_kwargs),
            batch=len(prompts),
            beams=beams,
            most=int(generation_config.max_length) - input_ids.shape[1],
            eos=eos,
            pad=pad_token(generation_config, eos),
            keep=keep,
            halt=other_criteria(stopping_criteria, prompts),
        )
        found = self.search(task, self.length_penalty)
        said = found.ids[..., : int(found.lengths.max())].flatten(0, 1)
        sequences: Any = torch.cat([prompts.repeat_interleave(keep, 0), said], dim=1)
        if not generation_config.return_dict_in_generate:
            return sequences
        return GenerateBeamDecoderOnlyOutput(sequences=sequences, sequences_scores=found.scores.flatten())


class ModelSteps:
    """``Task.step`` by a model: prompts (R, T) at the first call, then one token a row, with the model's cache."""

    def __init__(
        self,
        model: Any,
        prompts: Tensor,
        processors: LogitsProcessorList,
        config: GenerationConfig,
        inputs: dict[str, Any],
    ) -> None:
        self.model, self.prompts, self.processors = model, prompts, processors
        self.config, self.inputs = config, inputs

    def __call__(self, ids: Tensor, parents: Tensor) -> Tensor:
        """See ``Task``; log-probabilities in float32, after the logits processors."""
        rows: Any = torch.cat([self.prompts, ids], dim=1)
        outputs = self._next(rows, parents) if ids.shape[1] else self._first(rows)
        self.inputs = self.model._update_model_kwargs_for_generation(
            outputs, self.inputs, is_encoder_decoder=self.model.config.is_encoder_decoder
        )
        logits = outputs.logits[:, -1].to(rows.device, torch.float32)
        scores: Tensor = self.processors(rows, logits.log_softmax(-1))
        return scores

    def _first(self, rows: Tensor) -> Any:
        return self.model._prefill(rows, self.config, self.inputs)

    def _next(self, rows: Tensor, parents: Tensor) -> Any:
        cache = self.inputs.get("past_key_values")
        if cache is not None:
            cache.reorder_cache(parents)
        fresh = 1 if self.inputs["use_cache"] else None
        inputs = self.model.prepare_inputs_for_generation(rows, next_sequence_length=fresh, **self.inputs)
        return self.model(**inputs, return_dict=True)


def check(config: GenerationConfig) -> None:
    """Refuse what would be ignored."""
    mode = config.get_generation_mode()
    if mode != GenerationMode.BEAM_SEARCH:
        raise UserError(
            f"generate: this is a beam search, and these settings ask for {mode.value}: set num_beams alone"
        )
    for name, usual in NOT_OFFERED.items():
        value = getattr(config, name, None)
        if value not in (None, usual):
            raise UserError(f"generate: this beam search has no {name}={value}: leave it out")


def end_tokens(config: GenerationConfig, device: torch.device) -> Tensor:
    """(E,) the tokens that end a reply; there may be none."""
    given = config.eos_token_id
    ids = [] if given is None else given if isinstance(given, list) else [given]
    return torch.tensor(ids, dtype=torch.long, device=device)


def pad_token(config: GenerationConfig, eos: Tensor) -> int:
    """The token that fills up, as in ``generate``: without a pad token an end token, without either -1."""
    if config.pad_token_id is not None:
        return int(config.pad_token_id)
    return int(eos[0]) if len(eos) else -1


def other_criteria(criteria: StoppingCriteriaList, prompts: Tensor) -> Halt | None:
    """``Task.halt`` for what neither the end tokens nor the length say; prompts (B, T)."""
    others = StoppingCriteriaList(
        each for each in criteria if not isinstance(each, EosTokenCriteria | MaxLengthCriteria)
    )
    if not others:
        return None

    def halt(ids: Tensor) -> Tensor:
        before = prompts.repeat_interleave(len(ids) // len(prompts), 0)
        halted: Tensor = others(torch.cat([before, ids], dim=1), None)
        return halted

    return halt
