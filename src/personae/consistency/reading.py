"""Claims to the token ids that a checker reads. Shapes: B batch, T tokens of a claim."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerFast

from personae.metrics.c_score import Claim
from personae.text.tokenizer import CLASSIFY, PARTNER_MARK, SELF_MARK

WINDOW = 160
SENTENCE, QUESTION, REPLY = 48, 56, 48  # most tokens of each; with three marks they fit the window
KINDS = 7

Row = Mapping[str, Sequence[int]]


class Reading(ABC):
    """How claims become rows of ids."""

    name: str

    @abstractmethod
    def row(self, claim: Claim) -> Row:
        """``input_ids`` and what else stands beside them (T)."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Save the tokenizer."""

    @property
    @abstractmethod
    def pad(self) -> int:
        """The padding token."""

    def batch(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Rows padded on the right: (B, T) each, with ``attention_mask``."""
        tensors = {key: [torch.tensor(row[key]) for row in rows] for key in rows[0]}
        mask = pad_sequence([torch.ones_like(each) for each in tensors["input_ids"]], batch_first=True)
        fill = {"input_ids": self.pad}
        padded = {
            key: pad_sequence(each, batch_first=True, padding_value=fill.get(key, 0)) for key, each in tensors.items()
        }
        return {**padded, "attention_mask": mask}


class Marked(Reading):
    """``[CLS] sentence Q: question R: reply``, for checkers trained here.

    A token's type says which of the three texts it stands in, and whether it occurs on the other side too: sentence
    against reply, question against sentence (the exact-match feature of Chen et al. 2017, Section 3.2). So a small
    network can compare values that it was never trained on. Texts are lower-cased.
    """

    name = "marked"

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        self._mark = {token: vocabulary[token] for token in (CLASSIFY, PARTNER_MARK, SELF_MARK)}
        # As in the packer: a text cannot forge a mark.
        self._words = copy.deepcopy(tokenizer.backend_tokenizer)
        self._words.encode_special_tokens = True

    @property
    def pad(self) -> int:
        """The padding token."""
        return int(self.tokenizer.pad_token_id)

    def row(self, claim: Claim) -> Row:
        """``input_ids`` and ``token_type_ids`` (T); of a long question the end is read, of other texts the start."""
        sentence, reply = self._ids(claim.sentence)[:SENTENCE], self._ids(claim.reply)[:REPLY]
        question = self._ids(claim.question)[-QUESTION:]
        ids: list[int] = []
        types: list[int] = []
        parts = ((CLASSIFY, sentence, reply), (PARTNER_MARK, question, sentence), (SELF_MARK, reply, sentence))
        for number, (mark, own, other) in enumerate(parts):
            seen = set(other)
            ids += [self._mark[mark], *own]
            types += [0, *(1 + 2 * number + (token in seen) for token in own)]
        return {"input_ids": ids, "token_type_ids": types}

    def save(self, folder: Path) -> None:
        """Save the tokenizer."""
        self.tokenizer.save_pretrained(folder)

    def _ids(self, text: str) -> list[int]:
        words = " ".join(text.lower().split())
        return list(self._words.encode(f" {words}", add_special_tokens=False).ids) if words else []


class Paired(Reading):
    """A sentence and a reply as a pair of texts, for models trained elsewhere; with ``question`` first."""

    name = "paired"

    def __init__(self, tokenizer: Any, question: bool, window: int) -> None:
        self.tokenizer, self.question, self.window = tokenizer, question, window

    @property
    def pad(self) -> int:
        """The padding token."""
        return int(self.tokenizer.pad_token_id or 0)

    def row(self, claim: Claim) -> Row:
        """What the tokenizer makes of the pair, cut to the window."""
        reply = f"{claim.question} {claim.reply}".strip() if self.question else claim.reply
        encoded = self.tokenizer(claim.sentence, reply, truncation=True, max_length=self.window)
        return {key: list(ids) for key, ids in encoded.items() if key != "attention_mask"}

    def save(self, folder: Path) -> None:
        """Save the tokenizer."""
        self.tokenizer.save_pretrained(folder)
