"""Loads a file of numbers recorded from the published multi-source code into our model. Keys: see its README."""

import json
import re
from typing import Any

from torch import Tensor

from personae.models import FusedConfig, FusedModel
from tests.parity.files import File

SOURCES = ("persona", "context")
THEIRS = {"persona": "persona", "context": "history"}
# The published fusion -> ours. The four dynamic ones see the whole reply in training and are left out.
FUSIONS = {
    "mean": "mean",
    "max": "max",
    "min": "min",
    "sw": "source-weight-published",
    "dw": "dimension-weight-published",
    "linear": "linear",
    "att": "attention-published",
}
# Cao et al.'s layout of a block -> ours.
RENAMED = (
    (r"^transformer\.tokens_embed", "decoder.wte"),
    (r"^transformer\.positions_embed", "decoder.wpe"),
    (r"^transformer\.", "decoder."),
    (r"^encoder\.", "encoders.shared."),
    (r"\.context_attns\.(\d)\.c_proj", r".asks.\1.attention.c_proj"),
    (r"\.attention_module\.c_proj\.", ".fusion.project."),
    (r"\.attention_module\.(weight|bias)$", r".fusion.linear.\1"),
    (r"\.attention_module$", ".fusion.weight"),
)


class NotOfferedError(Exception):
    """The file records something that we leave out; the message says what."""


class Recording(File):
    """One file: tensors by key, and the facts in its metadata."""

    @property
    def ids(self) -> dict[str, int]:
        return dict(json.loads(self.facts["special_ids"]))

    @property
    def shares_module(self) -> bool:
        return not any(key.startswith("w.encoder.") for key in self.tensors)

    @property
    def shares_attention(self) -> bool:
        return not any("context_attns" in key for key in self.tensors)

    @property
    def post_norm(self) -> bool:
        return self.facts.get("arch") == "gpt"

    def fusion(self) -> dict[str, Any]:
        name = self.facts.get("fusion", "")
        if name not in FUSIONS:
            raise NotOfferedError(f"fusion {name} is left out: its weights are means over the whole reply")
        if self.post_norm and (name == "att" or not self.shares_attention):
            raise NotOfferedError("OpenAI GPT asks its own source attentions with the self-attention's queries")
        heads = {"heads": self.number("n_head")} if name == "att" else {}
        return {"name": FUSIONS[name], **heads}

    def config(self) -> FusedConfig:
        geometry = {"n_embd": self.number("n_embd"), "n_layer": self.number("n_layer"), "n_head": self.number("n_head")}
        decoder = {**geometry, "n_positions": self.number("n_positions"), "activation_function": "gelu_new"}
        ids = self.ids
        return FusedConfig(
            fusion=self.fusion(),
            vocab_size=self.number("base_vocab") + len(ids),
            bos_token_id=ids["<bos>"],
            eos_token_id=ids["<eos>"],
            pad_token_id=ids["<pad>"],
            decoder=decoder,
            encoder_kind="decoder" if self.shares_module else "gpt2",
            share_encoder=not self.shares_module,
            causal_encoder=True,
            block="beside",
            share_self_attention=self.shares_attention,
            post_norm=self.post_norm,
            source_losses={"persona": 0.5, "context": 0.5},
            reply_loss=2.0,
        )

    def model(self) -> FusedModel:
        model = FusedModel(self.config()).eval()
        missing, unexpected = model.load_state_dict(self.parameters("w."), strict=False)
        assert not unexpected, unexpected
        assert not missing, missing
        return model

    def parameters(self, prefix: str) -> dict[str, Tensor]:
        """Our names and layout of the published parameters under ``prefix``; the head is tied to the words."""
        found: dict[str, Tensor] = {}
        for key, value in self.tensors.items():
            name = key.removeprefix(prefix)
            if key.startswith(prefix) and not name.startswith(("lm_head", "multiple_choice_head")):
                found |= ours(name, value)
        return found

    def source(self, name: str) -> dict[str, Tensor]:
        """Ids, types, mask and the labels of the encoder's own loss."""
        both = self.tensors[f"in.{THEIRS[name]}"]
        ids, types = both[..., 0], both[..., 1]
        labels = ids.clone()
        for ignored in json.loads(self.facts.get("ignore_ids", "[]")):
            labels[ids == ignored] = -100
        mask = ids != self.ids["<pad>"]
        return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask, "labels": labels}

    def inputs(self) -> dict[str, Any]:
        """What the decoder is fed: the target without its last token."""
        both = self.tensors["in.target"][:, :-1]
        mask = both[..., 0] != self.ids["<pad>"]
        sources = {name: self.source(name) for name in SOURCES}
        return {"input_ids": both[..., 0], "token_type_ids": both[..., 1], "attention_mask": mask, "sources": sources}

    def row(self) -> dict[str, Any]:
        """The whole target with labels."""
        both, pad = self.tensors["in.target"], self.ids["<pad>"]
        ids = both[..., 0]
        labels = ids.masked_fill(ids == pad, -100)
        labels[:, 0] = -100
        return {**self.inputs(), "input_ids": ids, "token_type_ids": both[..., 1], "attention_mask": ids != pad} | {
            "labels": labels
        }


def ours(name: str, value: Tensor) -> dict[str, Tensor]:
    """Our name or names of one published parameter."""
    for old, new in RENAMED:
        name = re.sub(old, new, name)
    if name.endswith("fusion.project.weight"):  # Conv1D is (in, out)
        return {name: value.t()}
    found = re.fullmatch(r"(.*)\.context_attns\.(\d)\.c_attn\.(\w+)", name)
    if found is None:
        return {name: value}
    block, source, kind = found.groups()
    width = value.shape[-1] // 3
    attention = f"{block}.asks.{source}.attention"
    return {f"{attention}.q_attn.{kind}": value[..., :width], f"{attention}.c_attn.{kind}": value[..., width:]}
