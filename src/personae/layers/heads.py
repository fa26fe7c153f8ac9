"""Heads that tell the right reply from others. Shapes: B batch, C candidates, R rows, T row, D width."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CandidateHead(nn.Module, ABC):
    """Scores a row, prompt and candidate reply, by the decoder's state of its last real token."""

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.score = nn.Linear(width, 1)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(R,) scores of rows (R, T, D) whose real tokens ``mask`` (R, T) tells."""
        rows = torch.arange(states.shape[0], device=states.device)
        return cast(Tensor, self.score(self.dropout(states[rows, last_real(mask)]))).squeeze(-1)

    @abstractmethod
    def losses(self, scores: Tensor, gold: Tensor) -> Tensor:
        """(B,) nats per example, of scores (B, C) where candidate ``gold`` (B,) is right."""


class ChoiceHead(CandidateHead):
    """One softmax over an example's candidates (Wolf et al. 2019)."""

    def losses(self, scores: Tensor, gold: Tensor) -> Tensor:
        """See ``CandidateHead``."""
        return F.cross_entropy(scores.float(), gold, reduction="none")


class BinaryHead(CandidateHead):
    """Right or wrong, each candidate for itself (Huang et al. 2023, Eq. 9): the mean over an example's candidates."""

    def losses(self, scores: Tensor, gold: Tensor) -> Tensor:
        """See ``CandidateHead``."""
        right = F.one_hot(gold, scores.shape[1]).float()
        return F.binary_cross_entropy_with_logits(scores.float(), right, reduction="none").mean(-1)


def last_real(mask: Tensor) -> Tensor:
    """(R,) position of the last real token of each row of ``mask`` (R, T)."""
    return mask.shape[-1] - 1 - mask.flip(-1).int().argmax(-1)


def gold_rows(states: Tensor, candidates: Mapping[str, Tensor], mask: Tensor) -> Tensor:
    """(B, T, D) states of the input rows, out of those of all candidates (B, C, T', D).

    An input row, real where ``mask`` (B, T) is, is the beginning of its gold candidate's: it need not be read twice.
    """
    gold = candidates["labels"]
    rows = torch.arange(gold.shape[0], device=gold.device)
    real = candidates["attention_mask"][rows, gold].bool()
    begins = real & (real.cumsum(-1) <= mask.sum(-1, keepdim=True))
    hidden = states.new_zeros(*mask.shape, states.shape[-1])
    hidden[mask.bool()] = states[rows, gold][begins]
    return hidden
