"""GPT-2 weights in HF format into a decoder with sources, every key accounted for."""

from collections.abc import Mapping
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import GPT2Model

from personae.errors import UserError
from personae.models.base import LoadReport


@torch.no_grad()
def load_gpt2(decoder: nn.Module, heads: int, folder: str) -> LoadReport:
    """Copy the weights of GPT-2 at ``folder`` (or hub name) into ``decoder``, whose parameter names are GPT-2's.

    A word table with more rows gets them near the end-of-text token, as Huang et al. start their special
    tokens. Raises ``UserError`` where there is no checkpoint or the geometry is another.
    """
    weights, unknown = _read(folder, heads)
    ours = dict(decoder.named_parameters())
    reshaped = tuple(key for key in weights if key in ours and weights[key].shape != ours[key].shape)
    for key in reshaped:
        weights[key] = _reshape(key, weights[key], ours[key])
    for key in weights.keys() & ours.keys():
        ours[key].copy_(weights[key])
    return LoadReport(_others(ours, weights), (*_others(weights, ours), *unknown), reshaped)


def _read(folder: str, heads: int) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """GPT-2's weights at ``folder``, and the keys there that are none of GPT-2's."""
    try:
        loaded: Any = GPT2Model.from_pretrained(folder, output_loading_info=True, use_safetensors=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise UserError(f"model.weights='{folder}' is no GPT-2 checkpoint: {str(error).splitlines()[0]}") from error
    model, told = loaded
    lacking = sorted(told["missing_keys"])
    if lacking:
        raise UserError(
            f"model.weights='{folder}' is no GPT-2 checkpoint: it lacks {len(lacking)} keys, as {lacking[0]}"
        )
    if model.config.n_head != heads:
        raise UserError(
            f"model.weights: {model.config.n_head} heads in the checkpoint and {heads} in the recipe: "
            f"set model.options.decoder to the checkpoint's size"
        )
    return model.state_dict(), tuple(sorted(told["unexpected_keys"]))


def _reshape(key: str, given: Tensor, wanted: Tensor) -> Tensor:
    rows = wanted.shape[0] - given.shape[0]
    if key == "wte.weight" and rows > 0 and given.shape[1] == wanted.shape[1]:
        near = given[-1] + 0.1 * torch.empty(rows, given.shape[1]).normal_(std=0.02)
        return torch.cat([given, near])
    if key == "wpe.weight" and rows < 0 and given.shape[1] == wanted.shape[1]:
        return given[: wanted.shape[0]]
    raise UserError(
        f"model.weights: {key} is {tuple(given.shape)} in the checkpoint and {tuple(wanted.shape)} in the recipe: "
        f"set model.options.decoder to the checkpoint's size"
    )


def _others(keys: Mapping[str, Tensor], than: Mapping[str, Tensor]) -> tuple[str, ...]:
    return tuple(sorted(keys.keys() - than.keys()))
