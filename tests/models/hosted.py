"""Tiny models of many families with sources added."""

from typing import Any

import torch
from torch import Tensor
from transformers import CONFIG_MAPPING, PreTrainedModel

from personae.models import HostedModel
from tests.helpers import IDS, LLAMA, SOURCES, Batch, batch_of

KNOWN = 32
# Plain; biases on queries; layers without positions; a window of six tokens; self-attention and MLP side by side;
# positions as a table; scaled words and capped logits; scaled logits.
FAMILIES = ("llama", "qwen2", "smollm3", "mistral", "gpt_neox", "gpt2", "gemma2", "granite")
MORE = {"head_dim": 8, "sliding_window": 6, "n_inner": 32}


def described(family: str, **fields: Any) -> dict[str, Any]:
    """A tiny ``base_config`` of ``family``."""
    usual = CONFIG_MAPPING[family]()
    known = {*usual.to_dict(), *usual.attribute_map}
    wanted = {**LLAMA, **MORE, "vocab_size": KNOWN, **fields, "model_type": family}
    return {key: value for key, value in wanted.items() if key in known}


def hosted(family: str = "llama", fusion: str = "paa", sources: tuple[str, ...] = SOURCES, **options: Any) -> Any:
    """A tiny hosted model in eval mode."""
    weights = {} if "base" in options else {"base_config": described(family, **options.pop("fields", {}))}
    torch.manual_seed(0)
    return HostedModel.create(sources, {"name": fusion}, IDS, {**weights, **options}).eval()


@torch.no_grad()
def loud(model: Any) -> Any:
    """The model with sources that matter; ``shake`` would make deeper families amplify rounding beyond comparison."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        spread = 0.25 if parameter.dim() > 1 else 0.1
        parameter.add_(spread * torch.randn(parameter.shape, generator=generator))
    return model


def alone(base: PreTrainedModel, batch: Batch) -> Tensor:
    """(B, T, W) what the base says without us."""
    with torch.no_grad():
        logits: Tensor = base.eval()(batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return logits


def known_words(**shape: Any) -> Batch:
    """A batch of words that the base knows."""
    batch = batch_of(**shape)
    return {**batch, "input_ids": batch["input_ids"] % KNOWN}
