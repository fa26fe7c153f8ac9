"""Packed dialogues to one padded batch. Shapes: B batch, C candidates, T prompt and reply, S source."""

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
    ``side``; positions come from the mask, so the side changes no result. Where tokens have types,
    ``token_type_ids`` stand beside all ids. With ``source_labels`` every source has ``labels`` (B, S): its words,
    -100 on marks. Where there are candidates, ``candidates`` holds ``input_ids``, ``attention_mask`` and types
    (B, C, T') of prompt and candidate reply, and ``labels`` (B,), the place of the gold one.
    """

    def __init__(self, pad: int, side: str = "right", source_labels: bool = False) -> None:
        self.pad, self.side, self.source_labels = pad, side, source_labels

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
            **self.types([types_of(packed, len(row)) for packed, row in zip(batch, rows, strict=True)]),
            **self.candidates(batch),
        }

    def prompts(self, batch: Sequence[Packed]) -> dict[str, Any]:
        """Pad ``batch`` up to the begin token, on the left, for generation."""
        left = Collator(self.pad, side="left")
        ids, mask = left.pad_rows([packed.prompt for packed in batch], self.pad)
        types = left.types([packed.prompt_types for packed in batch])
        return {"input_ids": ids, "attention_mask": mask, "sources": left.sources(batch), **types}

    def sources(self, batch: Sequence[Packed]) -> dict[str, dict[str, Tensor]]:
        """Per source, ``input_ids`` and ``attention_mask`` (B, S), and what else was asked for."""
        return {name: self.source(name, batch) for name in batch[0].sources}

    def source(self, name: str, batch: Sequence[Packed]) -> dict[str, Tensor]:
        """One source of a batch."""
        rows = [packed.sources[name] for packed in batch]
        ids, mask = self.pad_rows(rows, self.pad)
        found = {"input_ids": ids, "attention_mask": mask}
        if self.source_labels:
            words = [
                [token if at >= 0 else IGNORED for token, at in zip(row, packed.items[name], strict=True)]
                for packed, row in zip(batch, rows, strict=True)
            ]
            found["labels"] = self.pad_rows(words, IGNORED)[0]
        return found | self.types([None if packed.types is None else packed.types[name] for packed in batch])

    def candidates(self, batch: Sequence[Packed]) -> dict[str, dict[str, Tensor]]:
        """``candidates`` (B, C, T') where there are any: equally many for every example."""
        said = [(packed, reply) for packed in batch for reply in packed.candidates or ()]
        if not said:
            return {}
        rows = [packed.prompt + reply for packed, reply in said]
        ids, mask = self.pad_rows(rows, self.pad)
        types = self.types([types_of(packed, len(row)) for (packed, _), row in zip(said, rows, strict=True)])
        found = {"input_ids": ids, "attention_mask": mask, **types}
        shaped = {name: each.view(len(batch), -1, each.shape[-1]) for name, each in found.items()}
        return {"candidates": {**shaped, "labels": torch.tensor([packed.gold for packed in batch])}}

    def types(self, rows: Sequence[list[int] | None]) -> dict[str, Tensor]:
        """``token_type_ids`` (B, T) where there are types."""
        known = [row for row in rows if row is not None]
        return {"token_type_ids": self.pad_rows(known, self.pad)[0]} if known else {}

    def pad_rows(self, rows: Sequence[list[int]], value: int) -> tuple[Tensor, Tensor]:
        """Return (B, T) ids padded with ``value`` and the (B, T) mask, True on real tokens."""
        tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
        ids = pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=self.side)
        ones = [torch.ones(len(row), dtype=torch.bool) for row in rows]
        return ids, pad_sequence(ones, batch_first=True, padding_value=False, padding_side=self.side)


def types_of(packed: Packed, length: int) -> list[int] | None:
    """Types of the prompt and, up to ``length``, of the reply."""
    types = packed.prompt_types
    return None if types is None else types + types[-1:] * (length - len(types))
