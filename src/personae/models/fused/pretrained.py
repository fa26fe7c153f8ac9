"""Weights of GPT-2 or OpenAI GPT in HF format into a decoder with sources, every key accounted for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import GPT2Model, OpenAIGPTModel

from personae.errors import UserError
from personae.layers.attention import BorrowedAttention, SourceAttention
from personae.layers.blocks import AskSource, Block
from personae.models.base import LoadReport


@dataclass(frozen=True)
class Family:
    """Whose checkpoint: the title in messages, its class, GPT-2's names for what it names otherwise.

    ``ends``: the last row of its word table is the end-of-text token.
    """

    title: str
    kind: Any
    renamed: Mapping[str, str] = field(default_factory=dict)
    ends: bool = True


GPT2 = Family("GPT-2", GPT2Model)
OPENAI_GPT = Family("OpenAI GPT", OpenAIGPTModel, {"tokens_embed": "wte", "positions_embed": "wpe"}, ends=False)


@torch.no_grad()
def load_gpt2(decoder: nn.Module, heads: int, folder: str) -> LoadReport:
    """Copy the weights at ``folder`` (or hub name) into ``decoder``, whose parameter names are GPT-2's.

    They are GPT-2's, or OpenAI GPT's for a decoder without a norm at its end. A word table with more rows gets
    them near the end-of-text token, as Huang et al. start their special tokens; in OpenAI GPT, which has no such
    token, from N(0, 0.02). Raises ``UserError`` where there is no checkpoint or the geometry is another.
    """
    ours = dict(decoder.named_parameters())
    family = GPT2 if "ln_f.weight" in ours else OPENAI_GPT
    weights, unknown = _read(folder, heads, family)
    reshaped = tuple(key for key in weights if key in ours and weights[key].shape != ours[key].shape)
    for key in reshaped:
        weights[key] = _reshape(key, weights[key], ours[key], family)
    for key in weights.keys() & ours.keys():
        ours[key].copy_(weights[key])
    return LoadReport(_others(ours, weights), (*_others(weights, ours), *unknown), reshaped)


@torch.no_grad()
def copy_to_sources(decoder: nn.Module, encoders: Sequence[nn.Module]) -> None:
    """Start source attentions as copies of their layer's self-attention, and ``encoders`` as copies of the decoder."""
    for block in decoder.modules():
        if isinstance(block, Block):
            for ask in block.asks:
                _copy_attention(cast(AskSource, ask).attention, block.attn)
    weights = decoder.state_dict()
    for encoder in encoders:
        for key, value in encoder.named_parameters():
            if key not in weights or weights[key].shape != value.shape:
                raise UserError(
                    f"model.options.encoder: {key} should have the decoder's shape to start from its weights"
                )
            value.copy_(weights[key])


def _copy_attention(to: nn.Module, attn: Any) -> None:
    if isinstance(to, BorrowedAttention):
        return
    assert isinstance(to, SourceAttention)
    width = to.q_attn.weight.shape[1]
    for name in ("weight", "bias"):
        whole = getattr(attn.c_attn, name)
        getattr(to.q_attn, name).copy_(whole[..., :width])
        getattr(to.c_attn, name).copy_(whole[..., width:])
        getattr(to.c_proj, name).copy_(getattr(attn.c_proj, name))


def _read(folder: str, heads: int, family: Family) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The family's weights at ``folder`` under GPT-2's names, and the keys there that are none of the family's."""
    wrong = f"model.weights='{folder}' is no {family.title} checkpoint"
    try:
        loaded: Any = family.kind.from_pretrained(folder, output_loading_info=True, use_safetensors=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise UserError(f"{wrong}: {str(error).splitlines()[0]}") from error
    model, told = loaded
    lacking = sorted(told["missing_keys"])
    if lacking:
        raise UserError(f"{wrong}: it lacks {len(lacking)} keys, as {lacking[0]}")
    if model.config.n_head != heads:
        raise UserError(
            f"model.weights: {model.config.n_head} heads in the checkpoint and {heads} in the recipe: "
            f"set model.options.decoder to the checkpoint's size"
        )
    weights = {_named(key, family): value for key, value in model.state_dict().items()}
    return weights, tuple(sorted(told["unexpected_keys"]))


def _named(key: str, family: Family) -> str:
    """GPT-2's name of a parameter."""
    first, dot, rest = key.partition(".")
    return family.renamed.get(first, first) + dot + rest


def _reshape(key: str, given: Tensor, wanted: Tensor, family: Family) -> Tensor:
    rows = wanted.shape[0] - given.shape[0]
    if key == "wte.weight" and rows > 0 and given.shape[1] == wanted.shape[1]:
        noise = torch.empty(rows, given.shape[1]).normal_(std=0.02)
        return torch.cat([given, given[-1] + 0.1 * noise if family.ends else noise])
    if key == "wpe.weight" and rows < 0 and given.shape[1] == wanted.shape[1]:
        return given[: wanted.shape[0]]
    raise UserError(
        f"model.weights: {key} is {tuple(given.shape)} in the checkpoint and {tuple(wanted.shape)} in the recipe: "
        f"set model.options.decoder to the checkpoint's size"
    )


def _others(keys: Mapping[str, Tensor], than: Mapping[str, Tensor]) -> tuple[str, ...]:
    return tuple(sorted(keys.keys() - than.keys()))
