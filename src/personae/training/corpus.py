"""A recipe's data, read, packed and counted."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from personae.data import interview
from personae.data.load import Loaded, load
from personae.data.subset import Subset
from personae.errors import UserError, nearest
from personae.recipe import Recipe
from personae.runs import Run, make_packer
from personae.text.dialogue import Dialogue
from personae.text.pack import REPLY, Packer
from personae.text.style import restyle
from personae.text.tokenizer import load_tokenizer, train_tokenizer
from personae.training.examples import CandidateDataset, PackedDataset, Replies
from personae.training.start import same_words


@dataclass(frozen=True)
class Corpus:
    """What a run trains on, and what was left out on the way."""

    tokenizer: PreTrainedTokenizerFast
    packer: Packer
    train: PackedDataset
    valid: PackedDataset
    report: dict[str, Any]


def prepare(recipe: Recipe, folder: Path, candidate_end: str | None = None) -> Corpus:
    """Read, tokenise and pack what ``recipe`` names; a trained tokenizer is kept in ``folder``.

    ``candidate_end``: the token after each candidate reply, where there are candidates.
    """
    train, valid = read(recipe, folder)
    part = part_of(recipe, train)
    chosen = [restyle(dialogue, recipe.text.style) for dialogue in part.dialogues]
    held_out = [restyle(dialogue, recipe.text.style) for dialogue in valid.dialogues]
    tokenizer = make_tokenizer(recipe, folder, chosen)
    packer = make_packer(recipe, tokenizer)
    chosen, long = short_enough(packer, chosen, recipe.text.long_replies)
    held_out, held_long = short_enough(packer, held_out, recipe.text.long_replies)
    packed, held = (pack(recipe, packer, each, candidate_end) for each in (chosen, held_out))
    report: dict[str, Any] = {
        "train": {
            **{"examples": len(packed), "conversations": len(part.conversations)},
            **{"tokens": sum(each.length for each in packed.examples)},
            **{"sha256": train.sha256, "skipped_lines": train.skipped},
        },
        "valid": {"examples": len(held), "sha256": valid.sha256, "skipped_lines": valid.skipped},
        "cuts": packer.cuts.as_dict(),
        "long_replies_left_out": long + held_long,
    }
    for split, data in (("train", packed), ("valid", held)):
        if isinstance(data, CandidateDataset):
            report[split]["candidates"] = data.facts()
    return Corpus(tokenizer, packer, packed, held, report)


def read(recipe: Recipe, folder: Path) -> tuple[Loaded, Loaded]:
    """Training and validation dialogues, generated into ``folder`` first where the recipe says so."""
    data = recipe.data
    if data.generate is not None:
        files = generate(data.generate, folder / "data")
        return load([files["train"]], "jsonl"), load([files["valid"]], "jsonl")
    if not data.train:
        raise UserError("data.train names no file: give data.train=[PATH]")
    train = load(data.train, data.reader, data.on_error)
    if data.valid:
        return train, load(data.valid, data.reader, data.on_error)
    if not data.holdout:
        raise UserError("data.valid names no file: give data.valid=[PATH], or data.holdout=0.05")
    held, rest = train.draw(max(1, round(data.holdout * len(train.conversations))), recipe.train.seed)
    return rest, held


def part_of(recipe: Recipe, train: Loaded) -> Loaded:
    """What a run of ``recipe`` is given of its training data."""
    data, seed = recipe.data, recipe.train.seed
    if data.conversations is not None:
        return train.draw(data.conversations, seed)[0]
    return train if data.fraction == 1 else Subset.build(data.sample).choose(train, data.fraction, seed)


def generate(options: dict[str, Any], folder: Path) -> dict[str, Path]:
    """Write a generated corpus; ``options``: corpus, seed, sizes."""
    known = ("corpus", "seed", "sizes")
    for key in options:
        if key not in known:
            raise UserError(f"unknown recipe key 'data.generate.{key}'.{nearest(key, known)}")
    if options.get("corpus") != "interview":
        raise UserError("data.generate.corpus: the package generates 'interview' only")
    return interview.write(folder, seed=int(options.get("seed", 0)), sizes=options.get("sizes"))


def make_tokenizer(recipe: Recipe, folder: Path, dialogues: Iterable[Dialogue]) -> PreTrainedTokenizerFast:
    """The recipe's tokenizer, or that of the run it starts from, or one trained on ``dialogues``.

    A run in ``folder`` keeps the latter two.
    """
    first = recipe.train.start_from
    if recipe.text.tokenizer is not None:
        given = load_tokenizer(recipe.text.tokenizer)
        return given if first is None else same_words(given, first)
    kept = folder / "tokenizer"
    if not Run(folder).recipe_file.exists():
        if first is None:
            train_tokenizer(sorted(texts(dialogues)), recipe.text.vocabulary).save_pretrained(kept)
        else:
            Run(first).tokenizer().save_pretrained(kept)
    return load_tokenizer(kept)


def texts(dialogues: Iterable[Dialogue]) -> set[str]:
    """Every distinct text."""
    return {text for each in dialogues for part in (*each.sources.values(), each.golds) for text in part}


def short_enough(packer: Packer, dialogues: list[Dialogue], long_replies: str) -> tuple[list[Dialogue], int]:
    """``dialogues``, with "skip" without those whose reply is over its budget, and how many these are."""
    if long_replies != "skip":
        return dialogues, 0
    kept = [each for each in dialogues if len(packer.encode(each.response)) + 1 <= packer.budgets[REPLY]]
    if not kept:
        raise UserError("every reply is over text.budgets.reply: raise it")
    return kept, len(dialogues) - len(kept)


def pack(recipe: Recipe, packer: Packer, dialogues: list[Dialogue], candidate_end: str | None) -> PackedDataset:
    """Pack ``dialogues``, with candidates where the recipe has them."""
    packed = [packer(dialogue) for dialogue in dialogues]
    if not recipe.train.candidates:
        return PackedDataset(packed)
    end = [] if candidate_end is None else [packer.tokenizer.get_vocab()[candidate_end]]
    replies = Replies(packer, dialogues, recipe.train.candidates - 1)
    return CandidateDataset(packed, replies, recipe.train.seed, end)
