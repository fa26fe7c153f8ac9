"""Tiny models and random batches for tests. Shapes: B batch, T prompt and reply, S source, D width."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from personae.fusion import Fusion, View
from personae.layers.attention import SourceAttention
from personae.layers.blocks import AskSource, unasked
from personae.layers.memory import Encoded
from personae.models import DialogueModel

SOURCES = ("persona", "context")
IDS = {"vocab_size": 40, "bos_token_id": 37, "eos_token_id": 38, "pad_token_id": 39}
WORDS, BOS, EOS, PAD = 37, 37, 38, 39
CLOSE = {"atol": 1e-5, "rtol": 1e-5}

ENCODER = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 32,
}
DECODER = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 48}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 48,
    "attention_dropout": 0.1,
}
# Options that make a small model, by the model's name; a new model adds its line here.
TINY: Mapping[str, Mapping[str, Any]] = {
    "fused": {"encoder": ENCODER, "decoder": DECODER},
    "seq2seq": {
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "depth": 6,
        "filter_size": 5,
        "dropout": 0.1,
    },
    "hosted": {"base_config": LLAMA, "tune": "all"},
    "adand": {
        "hidden_size": 12,
        "word_size": 10,
        "num_hidden_layers": 2,
        "xi": 4,
        "topics": 3,
        "topic_words": 14,
        "latent": 4,
        "bag_hidden": [6, 4],
        "dropout": 0.1,
        "diversity": 0.1,
    },
}
# Other wirings of the same network, each a change of the options above.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "share_encoder": {"share_encoder": True},
    "share_attention": {"share_attention": True},
    "share_words": {"share_words": True},
    "bridge": {"encoder": {**ENCODER, "hidden_size": 12}},
    "pooler": {"pooler": True},
    "gpt2_encoder": {"encoder_kind": "gpt2", "encoder": {"n_layer": 1, "n_positions": 32}},
    "causal_encoder": {"encoder_kind": "gpt2", "encoder": {"n_layer": 1, "n_positions": 32}, "causal_encoder": True},
    "decoder_encodes": {"encoder_kind": "decoder", "encoder": {}, "block": "beside"},
    "beside": {"block": "beside"},
    "share_self_attention": {"block": "beside", "share_self_attention": True},
    "post_norm": {"block": "beside", "encoder_kind": "decoder", "encoder": {}, "post_norm": True},
}
# Those of the seq2seq model.
SEQ2SEQ: Mapping[str, Mapping[str, Any]] = {"one_encoder": {"share_encoder": True}, "pointer": {"pointer": True}}

# Those of AdaND; None takes away an option that would do nothing.
NO_TOPICS = dict.fromkeys(("topics", "topic_words", "latent", "bag_hidden", "diversity"))
ADAND: Mapping[str, Mapping[str, Any]] = {
    "fixed": {"parameterisation": "plain", "xi": None, **NO_TOPICS},
    "context": {"parameterisation": "context", **NO_TOPICS, "attention": "dot"},
    "topic": {"parameterisation": "topic", "xi": None, "attention": "concat", "bidirectional": False},
    "published": {
        "parameterisation": "both-published",
        "context_cell": "layer-norm",
        "topic_model": "experts-published",
    },
    "one_reader": {"share_encoder": True, "kl_middle": 5},
}

Batch = dict[str, Any]
M = TypeVar("M", bound=nn.Module)


def fitting(sources: int = 2) -> list[str]:
    """Names of the fusions that take so many sources."""
    kinds = {name: Fusion.get(name) for name in Fusion.names()}
    return [name for name, kind in kinds.items() if kind.arity in (None, sources) and kind.least <= sources]


def tiny_model(
    name: str = "fused",
    fusion: str | Mapping[str, Any] | None = None,
    variant: str = "plain",
    sources: Sequence[str] = SOURCES,
    seed: int = 0,
) -> DialogueModel:
    """A small model in eval mode whose random weights are large enough to make every part matter."""
    chosen = {"name": fusion or "paa"} if isinstance(fusion, str | None) else fusion
    given = {**TINY[name], **(dict(VARIANTS) | SEQ2SEQ | ADAND)[variant]}
    options = {key: value for key, value in given.items() if value is not None}
    torch.manual_seed(seed)
    return shake(DialogueModel.get(name).create(sources, chosen, IDS, options), seed).eval()


@torch.no_grad()
def shake(module: M, seed: int = 0) -> M:
    """Replace the start near zero, under which most mistakes would not show."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        scale = 0.5 if parameter.dim() > 1 else 0.1
        parameter.add_(scale * torch.randn(parameter.shape, generator=generator))
    return module


def rows(lengths: Sequence[int], pad: int, seed: int, side: str = "right", extra: int = 0) -> tuple[Tensor, Tensor]:
    """Random (B, T) ids of these lengths and their mask, with ``extra`` further columns of padding on ``side``.

    The tokens of a row depend on the seed and its place only, so the same rows can be padded in other ways.
    """
    width = max(lengths) + extra
    ids, mask = torch.full((len(lengths), width), pad), torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(1000 * seed + row)
        part = slice(0, length) if side == "right" else slice(width - length, width)
        ids[row, part] = torch.randint(WORDS, (length,), generator=generator)
        mask[row, part] = 1
    return ids, mask


def batch_of(
    lengths: Sequence[int] = (9, 6, 7),
    persona: Sequence[int] = (5, 8, 3),
    context: Sequence[int] = (4, 2, 7),
    side: str = "right",
    source_side: str = "right",
    extra: int = 0,
    sources: Sequence[str] = SOURCES,
) -> Batch:
    """Inputs of ``forward``: three examples of unequal lengths unless told otherwise."""
    ids, mask = rows(lengths, PAD, 1, side, extra)
    sized = dict(zip(SOURCES, (persona, context), strict=True))
    padded = {name: rows(sized[name], PAD, 2 + SOURCES.index(name), source_side, extra) for name in sources}
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "sources": {name: {"input_ids": one, "attention_mask": two} for name, (one, two) in padded.items()},
    }


def with_labels(batch: Batch, start: int = 3) -> Batch:
    """The batch with every real token from ``start`` on as a label; right padding only."""
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    labels[:, :start] = -100
    return {**batch, "labels": labels}


def only(batch: Batch, row: int) -> Batch:
    """Example ``row`` alone, without any padding."""
    sources = {name: _unpadded(source, row) for name, source in batch["sources"].items()}
    return {**_unpadded({name: value for name, value in batch.items() if name != "sources"}, row), "sources": sources}


def _unpadded(tensors: Mapping[str, Tensor], row: int) -> dict[str, Tensor]:
    real = tensors["attention_mask"][row].bool()
    return {name: tensor[row][real][None] for name, tensor in tensors.items()}


class Layer(nn.Module):
    """One fusion with a cross-attention per source: the part of a block that asks and combines."""

    def __init__(self, name: str, sources: int, dim: int = 8, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.fusion = Fusion.build(name, dim=dim, sources=sources)
        asked = sources if self.fusion.uses_attention else 0
        self.asks = nn.ModuleList(AskSource(nn.LayerNorm(dim), SourceAttention(dim, 2)) for _ in range(asked))
        shake(self, seed)

    def views(self, hidden: Tensor, sources: Sequence[tuple[Tensor, Tensor]]) -> list[View]:
        """Views of sources given as (B, S, D) states and (B, S) masks."""
        encoded = [Encoded(*source) for source in sources]
        if not self.fusion.uses_attention:
            return [unasked(hidden, source) for source in encoded]
        return [ask(hidden, source, None) for ask, source in zip(self.asks, encoded, strict=True)]

    def forward(self, hidden: Tensor, sources: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, ...]:
        """The contributions."""
        contributions: tuple[Tensor, ...] = self.fusion(hidden, self.views(hidden, sources))
        return contributions


@contextmanager
def counted_calls(modules: Sequence[nn.Module]) -> Iterator[list[nn.Module]]:
    """While active, notes every call of one of ``modules``."""
    calls: list[nn.Module] = []
    hooks = [module.register_forward_hook(lambda one, _, __: calls.append(one)) for module in modules]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()
