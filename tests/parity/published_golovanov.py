"""Loads numbers recorded from MI-GPT of Golovanov et al. 2019, kept in the multi-source code, into our model."""

import re
from typing import Any

from torch import Tensor

from personae.models import FusedConfig, FusedModel
from tests.parity.files import File

MODULE = "w.transformer_module."
SOURCES = ("persona", "context")
THEIRS = {"persona": "persona", "context": "history"}
RENAMED = (
    (r"^embeddings", "wte"),
    (r"^pos_embeddings", "wpe"),
    (r"layers\.(\d+)\.attn_norm", r"h.\1.ln_1"),
    (r"layers\.(\d+)\.ff_norm", r"h.\1.ln_2"),
    (r"layers\.(\d+)\.attn\.qkv_proj", r"h.\1.attn.c_attn"),
    (r"layers\.(\d+)\.attn\.out_proj", r"h.\1.attn.c_proj"),
    (r"layers\.(\d+)\.ff\.layer_1", r"h.\1.mlp.c_fc"),
    (r"layers\.(\d+)\.ff\.layer_2", r"h.\1.mlp.c_proj"),
)
LINEAR = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


class Recording(File):
    """One file: tensors by key, and the facts in its metadata."""

    def config(self) -> FusedConfig:
        geometry = {name: self.number(name) for name in ("n_embd", "n_layer", "n_head")}
        words, places = (self.tensors[f"{MODULE}{name}.weight"] for name in ("embeddings", "pos_embeddings"))
        return FusedConfig(
            fusion={"name": "mean"},
            vocab_size=words.shape[0],
            bos_token_id=self.number("bos"),
            eos_token_id=self.number("eos"),
            pad_token_id=self.number("pad"),
            decoder={**geometry, "n_positions": len(places), "activation_function": "gelu_new"},
            encoder_kind="decoder",
            causal_encoder=True,
            block="beside",
            share_self_attention=True,
            post_norm=True,
            candidate_head="choice",
        )

    def model(self) -> FusedModel:
        model = FusedModel(self.config()).eval()
        model.load_state_dict(self.parameters())
        return model

    def parameters(self) -> dict[str, Tensor]:
        """Our names and layout of the published parameters."""
        found = {}
        for key, value in self.tensors.items():
            if key.startswith(MODULE):
                name, ours = renamed(key.removeprefix(MODULE), value)
                found[f"decoder.{name}"] = ours
        for part in ("weight", "bias"):
            found[f"candidate_head.score.{part}"] = self.tensors[f"w.multiple_choice_head.linear.{part}"]
        return found

    def rows(self, name: str) -> dict[str, Tensor]:
        """Ids, types and mask of one input."""
        ids, types = self.tensors[f"in.{name}"].unbind(-1)
        return {"input_ids": ids, "token_type_ids": types, "attention_mask": ids != self.number("pad")}

    def sources(self) -> dict[str, dict[str, Tensor]]:
        return {name: self.rows(THEIRS[name]) for name in SOURCES}

    def inputs(self) -> dict[str, Any]:
        """What the decoder is fed: the target without its last token."""
        return {**{name: value[:, :-1] for name, value in self.rows("target").items()}, "sources": self.sources()}


def renamed(name: str, value: Tensor) -> tuple[str, Tensor]:
    """Our name and layout of one parameter of the published module."""
    for old, new in RENAMED:
        name = re.sub(old, new, name)
    return name, value.t() if name.endswith(LINEAR) else value  # Conv1D is (in, out)
