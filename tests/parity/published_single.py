"""Loads numbers recorded from TransferGPT2 of the published multi-source code (one joined input) into our model."""

import json
from typing import Any

import torch
from torch import Tensor

from personae.models import FusedConfig, FusedModel
from tests.parity.files import File

RENAMED = (
    ("transformer.", "decoder."),
    ("multiple_choice_head.summary.", "candidate_head.score."),
)


class Recording(File):
    """One file: tensors by key, and the facts in its metadata.

    ``in.sequence`` (B, T, 2) holds ids and types; ``in.lengths`` (B, 2) the tokens before the reply's begin token and
    all tokens.
    """

    @property
    def special(self) -> dict[str, int]:
        return dict(json.loads(self.facts["special_ids"]))

    def config(self) -> FusedConfig:
        geometry = {name: self.number(name) for name in ("n_embd", "n_layer", "n_head")}
        places = self.tensors["w.transformer.wpe.weight"].shape[0]
        return FusedConfig(
            sources=(),
            vocab_size=self.number("base_vocab") + len(self.special),
            bos_token_id=self.special["<talker1_bos>"],
            eos_token_id=self.special["<eos>"],
            pad_token_id=self.special["<pad>"],
            decoder={**geometry, "n_positions": places, "activation_function": "gelu_new"},
            candidate_head="choice",
        )

    def model(self) -> FusedModel:
        model = FusedModel(self.config()).eval()
        model.load_state_dict(self.parameters())
        return model

    def parameters(self) -> dict[str, Tensor]:
        """Our names of the published parameters; the head is tied to the words."""
        found: dict[str, Tensor] = {}
        for key, value in self.tensors.items():
            name = key.removeprefix("w.")
            if key.startswith("w.") and not name.startswith("lm_head"):
                for old, new in RENAMED:
                    name = name.replace(old, new)
                found[name] = value
        return found

    @property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """(B, 1) each: where the reply begins, and where the row ends."""
        context, whole = self.tensors["in.lengths"][:, :, None].unbind(1)
        return context, whole

    def row(self) -> dict[str, Any]:
        """The joined input with labels: the reply after its begin token."""
        ids, types = self.tensors["in.sequence"].unbind(-1)
        places = torch.arange(ids.shape[1])[None]
        context, whole = self.lengths
        labels = ids.masked_fill((places <= context) | (places >= whole), -100)
        return {"input_ids": ids, "token_type_ids": types, "attention_mask": places < whole, "labels": labels}

    def prompt(self, example: int) -> dict[str, Tensor]:
        """What stands before the first word of one example's reply."""
        end = int(self.lengths[0][example]) + 1
        ids, types = self.tensors["in.sequence"][example : example + 1, :end].unbind(-1)
        return {"inputs": ids, "token_type_ids": types}
