"""Packed dialogues to one padded batch. Shapes: B batch, T prompt and reply, S source."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from personae.text.pack import Packed

IGNORED = -100


class Collator:
    """Batches packed dialogues.

    The result holds ``input_ids``, ``attention_mask`` and ``labels`` (B, T), and ``sources``: per source
    ``input_ids`` and ``attention_mask`` (B, S). Labels are -100 outside the reply. Padding stands on
    ``side``; positions come from the mask, so the side changes no result.
    """

    def __init__(self, pad: int, side: str = "right") -> None:
        self.pad, self.side = pad, side

    def __call__(self, batch: Sequence[Packed]) -> dict[str, Any]:
        """Pad ``batch`` with its replies, for training and perplexity."""
        rows = [packed.prompt + packed.reply for packed in batch]
        labels = [[IGNORED] * len(packed.prompt) + packed.reply for packed in batch]
        ids, mask = self.pad_rows(rows, self.pad)
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": self.pad_rows(labels, IGNORED)[0],
            "sources": self.sources(batch),
        }

    def prompts(self, batch: Sequence[Packed]) -> dict[str, Any]:
        """Pad ``batch`` up to the begin token, on the left, for generation."""
        left = Collator(self.pad, side="left")
        ids, mask = left.pad_rows([packed.prompt for packed in batch], self.pad)
        return {"input_ids": ids, "attention_mask": mask, "sources": left.sources(batch)}

    def sources(self, batch: Sequence[Packed]) -> dict[str, dict[str, Tensor]]:
        """Per source, ``input_ids`` and ``attention_mask`` (B, S)."""
        padded = {
            name: self.pad_rows([packed.sources[name] for packed in batch], self.pad) for name in batch[0].sources
        }
        return {name: {"input_ids": ids, "attention_mask": mask} for name, (ids, mask) in padded.items()}

    def pad_rows(self, rows: Sequence[list[int]], value: int) -> tuple[Tensor, Tensor]:
        """Return (B, T) ids padded with ``value`` and the (B, T) mask, True on real tokens."""
        tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
        ids = pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=self.side)
        ones = [torch.ones(len(row), dtype=torch.bool) for row in rows]
        return ids, pad_sequence(ones, batch_first=True, padding_value=False, padding_side=self.side)
