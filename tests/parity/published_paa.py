"""Loads a file of numbers recorded from the published PAA code into our model. Keys: see its README."""

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from personae.fusion import Fusion
from personae.models import FusedConfig, FusedModel

BOS, EOS, PAD, CLS = 117, 118, 119, 116
# The published mode -> our fusion, for the modes that we offer; a new fusion adds its line here.
FUSIONS: dict[str, str] = {
    "((pr)(cr))": "paa",
    "((cr)(pr))": "context-published",
    "(skip(c))(pr)": "skipped",
    "((prr)(crr))": "dual-published",
    "param_gate": "param",
    "attention_routing": "routing",
    "((pc)(r))": "sum",
    "direct_sum": "sum",
}
# Our fusion -> our name of each published gate layer. A gate that is not here is built and never asked.
GATES: dict[str, dict[str, str]] = {
    "paa": {"fc_persona_alpha": "gate"},
    "skipped": {"fc_persona_alpha": "gate"},
    "context-published": {"fc_persona_alpha": "gate", "fc_context_alpha": "context_gate"},
    "dual-published": {"fc_persona_alpha": "gate", "fc_context_alpha": "context_gate"},
    "param": {"fc_persona_alpha": "linear"},
    "routing": {},
    "sum": {},
}
# Published options that are left out on purpose (docs/papers.md), with the value that they have when off.
LEFT_OUT = {"response_gated": False, "reinforce_persona": None, "gate_fc": True}
# Modes whose code returns before it reads any of these options.
EARLY = ("attention_routing",)
LOOKS_AHEAD = "condition_bias is not offered: it pools over later positions and padding; fusion condition is causal"
PUBLISHED_GATES = ("fc_persona_alpha", "fc_context_alpha")
RENAMED = (
    ("persona_encoder.encoder.", "encoders.persona.bert."),
    ("context_encoder.encoder.", "encoders.context.bert."),
    ("decoder.transformer.", "decoder."),
    ("persona_crossattention.", "asks.0.attention."),
    ("context_crossattention.", "asks.1.attention."),
    ("persona_ln_cross_attn.", "asks.0.norm."),
    ("context_ln_cross_attn.", "asks.1.norm."),
    ("encoder_linear.", "bridge."),
)


class NotOfferedError(Exception):
    """The file records something that we leave out; the message says what."""


@dataclass
class Recording:
    """One file: tensors by key, and the facts in its metadata."""

    path: Path
    tensors: dict[str, Tensor]
    info: dict[str, Any]
    grad_norms: dict[str, float | None]

    @classmethod
    def load(cls, path: Path) -> "Recording":
        with safe_open(path, "pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            facts = file.metadata()
        return cls(path, tensors, json.loads(facts["info"]), json.loads(facts["grad_norms"]))

    @property
    def options(self) -> dict[str, Any]:
        return self.info["decoder_config"]

    def parameters(self) -> dict[str, Tensor]:
        found = {key.removeprefix("param."): value for key, value in self.tensors.items() if key.startswith("param.")}
        ours = {self.ours(key): value for key, value in found.items() if not key.startswith("cls_head.")}
        return {key: value for key, value in ours.items() if not self.unused(key)}

    def unused(self, name: str) -> bool:
        """Whether the mode builds this parameter, by our name, and never asks it."""
        return any(f".{gate}." in name for gate in PUBLISHED_GATES)

    def ours(self, name: str) -> str:
        """Our name of a published parameter."""
        gates = ((f"{old}.", f"fusion.{new}.") for old, new in GATES[self.fusion()["name"]].items())
        for old, new in (*RENAMED, *gates):
            name = name.replace(old, new)
        return name.replace("encoders.persona.", "encoders.shared.") if self.shares_encoder else name

    @property
    def shares_encoder(self) -> bool:
        return not any(key.startswith("param.context_encoder.") for key in self.tensors)

    def fusion(self) -> dict[str, Any]:
        options = self.options
        mode = options["fusion_mode"] if options["gated"] else "direct_sum"
        if mode == "condition_bias":
            raise NotOfferedError(LOOKS_AHEAD)
        if mode not in FUSIONS:
            raise NotOfferedError(f"mode {mode} has no fusion here")
        for key, off in LEFT_OUT.items():
            if options["gated"] and mode not in EARLY and options.get(key, off) != off:
                raise NotOfferedError(f"{key}={options[key]} is not offered")
        name = FUSIONS[mode]
        known = inspect.signature(Fusion.get(name)).parameters
        taken = {"tau": self.tau, "alpha": lambda: options.get("persona_alpha", 0.2)}
        return {"name": name} | {key: read() for key, read in taken.items() if key in known}

    def tau(self) -> str | float:
        rule = self.options["auto_tau"]
        if rule == "accurate":
            return str(self.options["auto_tau_numerator"])
        if rule is True:
            raise NotOfferedError("tau from padded lengths is not offered: padding would change results")
        return float(self.options["tau"])

    def model(self) -> FusedModel:
        model = FusedModel(self.config()).eval()
        missing, unexpected = model.load_state_dict(self.parameters(), strict=False)
        assert not unexpected, unexpected
        assert not missing, missing
        return model

    def config(self) -> FusedConfig:
        words = self.tensors["param.persona_encoder.encoder.embeddings.word_embeddings.weight"]
        places = self.tensors["param.persona_encoder.encoder.embeddings.position_embeddings.weight"]
        wpe = self.tensors["param.decoder.transformer.wpe.weight"]
        encoder = self.depth("param.persona_encoder.encoder.encoder.layer.")
        return FusedConfig(
            fusion=self.fusion(),
            vocab_size=words.shape[0],
            bos_token_id=BOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
            share_encoder=self.shares_encoder,
            share_attention=bool(self.options["shared_crossattention"]),
            pooler=True,
            encoder={
                "hidden_size": words.shape[1],
                "num_hidden_layers": encoder,
                "num_attention_heads": 4,
                "intermediate_size": self.tensors[f"{self.encoder_layer}intermediate.dense.bias"].shape[0],
                "max_position_embeddings": places.shape[0],
            },
            decoder={
                "n_embd": wpe.shape[1],
                "n_layer": self.depth("param.decoder.transformer.h."),
                "n_head": 4,
                "n_inner": self.tensors["param.decoder.transformer.h.0.mlp.c_fc.bias"].shape[0],
                "n_positions": wpe.shape[0],
            },
        )

    encoder_layer = "param.persona_encoder.encoder.encoder.layer.0."

    def depth(self, prefix: str) -> int:
        return 1 + max(int(key[len(prefix) :].split(".")[0]) for key in self.tensors if key.startswith(prefix))

    def sources(self, rows: slice = slice(None), unpadded: bool = False) -> dict[str, dict[str, Tensor]]:
        return {name: self.source(name, rows, unpadded) for name in ("persona", "context")}

    def source(self, name: str, rows: slice, unpadded: bool) -> dict[str, Tensor]:
        ids, mask = (self.tensors[f"in.{name}_{part}"][rows] for part in ("ids", "mask"))
        if unpadded:
            ids, mask = ids[mask.bool()][None], mask[mask.bool()][None]
        return {"input_ids": ids, "attention_mask": mask, "position_ids": padded_positions(ids)}

    def prompt(self, rows: slice = slice(None), unpadded: bool = False) -> tuple[Tensor, Tensor]:
        """What the decoder reads first, with the begin token: ids and mask."""
        names = [name for name in ("persona", "context") if self.options[f"add_{name}_to_decoder"]]
        parts = [self.source(name, rows, unpadded) for name in names]
        count = self.tensors["in.target_ids"][rows].shape[0]
        begin = torch.full((count, 1), BOS)
        ids = torch.cat([part["input_ids"] for part in parts] + [begin], dim=1)
        mask = torch.cat([part["attention_mask"] for part in parts] + [torch.ones_like(begin)], dim=1)
        return ids, mask

    def row(self) -> tuple[Tensor, Tensor, Tensor]:
        """The full decoder row as trained: ids, mask and labels (B, T)."""
        ids, mask = self.prompt()
        target, real = self.tensors["in.target_ids"], self.tensors["in.target_mask"]
        labels = torch.cat([torch.full_like(ids, -100), target.masked_fill(real == 0, -100)], dim=1)
        return torch.cat([ids, target], dim=1), torch.cat([mask, real], dim=1), labels


def padded_positions(ids: Tensor) -> Tensor:
    """The published position ids: 0 to T - 1 over the padded row."""
    return torch.arange(ids.shape[1]).expand_as(ids)
