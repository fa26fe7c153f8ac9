"""Tiny models of every kind that read a dialogue made by hand."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from personae.evidence import Explainer
from personae.models import DialogueModel
from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.pack import Packer, parts_of
from personae.text.tokenizer import train_tokenizer
from tests.helpers import ENCODER, LLAMA, SEQ2SEQ, TINY, VARIANTS, shake

PERSONA = ("i have two dogs .", "i live in oslo .", "my mother sings .")
TURNS = ("hello !", "hi there , how are you ?", "fine , thanks . where do you live ?")
ROLES = (PARTNER, SELF, PARTNER)
REPLY = "i live in oslo ."
BOTH = ("persona", "context")
BUDGETS = {"persona": 90, "context": 90, "reply": 40}
ROOM = 320
ROOMY: Mapping[str, Mapping[str, Any]] = {
    "fused": {
        "encoder": {**ENCODER, "max_position_embeddings": ROOM},
        "decoder": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": ROOM},
    },
    "seq2seq": TINY["seq2seq"],
    "adand": TINY["adand"],
    "hosted": {"base_config": {**LLAMA, "max_position_embeddings": ROOM}, "tune": "all"},
}


def talk(persona: Sequence[str] = PERSONA, turns: Sequence[str] = TURNS, response: str = REPLY) -> Dialogue:
    """A dialogue whose last turn is the partner's."""
    roles = tuple(ROLES[(len(turns) - 1 - at) % 2] for at in range(len(turns)))
    return Dialogue({"persona": tuple(persona), "context": tuple(turns)}, response, roles={"context": roles})


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Mostly letters, so that words are of several tokens."""
    return train_tokenizer([*PERSONA, *TURNS], 270)


def packer(sources: Sequence[str] = BOTH, prompt: Sequence[str] = (), **more: Any) -> Packer:
    """Packs with room for all; ``budgets`` among ``more`` changes some."""
    needed = {part for name in (*sources, *prompt) for part in parts_of(name)}
    budgets = {name: size for name, size in BUDGETS.items() if name in (*needed, "reply")}
    return Packer(tokenizer(), sources, prompt, {**budgets, **more.pop("budgets", {})}, **more)


def roomy(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a variant with room for a whole dialogue."""
    found = dict(options)
    encoder = dict(found.get("encoder", {}))
    for key in ("n_positions", "max_position_embeddings"):
        if key in encoder:
            encoder[key] = ROOM
    return {**found, "encoder": encoder} if encoder else found


def model(
    name: str = "fused", fusion: str = "paa", variant: str = "plain", sources: Sequence[str] = BOTH
) -> DialogueModel:
    """A small model in float64, where what differs is a mistake and never rounding."""
    marks = tokenizer()
    ids = {
        "vocab_size": len(marks),
        "bos_token_id": marks.bos_token_id,
        "eos_token_id": marks.eos_token_id,
        "pad_token_id": marks.pad_token_id,
    }
    options = {**ROOMY[name], **roomy((dict(VARIANTS) | SEQ2SEQ)[variant])}
    chosen = {"name": fusion} if sources else {}
    torch.manual_seed(0)
    return shake(DialogueModel.get(name).create(sources, chosen, ids, options)).double().eval()


def explainer(
    name: str = "fused",
    fusion: str = "paa",
    variant: str = "plain",
    sources: Sequence[str] = BOTH,
    prompt: Sequence[str] = (),
    **more: Any,
) -> Explainer:
    """Explains such a model."""
    rows = {"rows": more.pop("rows")} if "rows" in more else {}
    made = model(name, fusion, variant, sources)
    return Explainer(made, tokenizer(), packer(sources, prompt, **more), **rows)
