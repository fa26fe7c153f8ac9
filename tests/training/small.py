"""A training run of a second: a tiny model on a small interview corpus."""

import hashlib
from pathlib import Path
from typing import Any

from personae.recipe import Recipe, load_recipe

SIZES = "{train: 12, valid: 2, unseen_combinations: 5, unseen_values: 5}"
POSITIONS = 256
SMALL = (
    f"data.generate={{corpus: interview, seed: 0, sizes: {SIZES}}}",
    "text.vocabulary=400",
    "text.budgets={persona: 128, context: 128, reply: 48}",
    "model.fusion={name: paa}",
    "model.options.encoder={hidden_size: 16, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 32,"
    f" max_position_embeddings: {POSITIONS}}}",
    f"model.options.decoder={{n_embd: 16, n_layer: 2, n_head: 2, n_positions: {POSITIONS}}}",
    "train.steps=12",
    "train.epochs=5",
    "train.batch=6",
    "train.precision=fp32",
    "train.save_every=3",
    "train.evaluate_every=4",
    "train.log_every=1",
)


def small_recipe(*overrides: str) -> Recipe:
    """Some fifty examples, eight or nine steps an epoch, dropout as in GPT-2 and BERT."""
    return load_recipe("interview/paa", [*SMALL, *overrides])


def digest(path: Path) -> str:
    """Hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def logged(report: dict[str, Any], after: int = 0) -> list[dict[str, Any]]:
    """Every log line after step ``after``, but for the times in them."""
    lines = [line for line in report["history"] if line["step"] > after]
    timed = ("runtime", "per_second")
    return [{key: value for key, value in line.items() if not key.endswith(timed)} for line in lines]
