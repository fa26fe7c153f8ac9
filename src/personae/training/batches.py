"""The order of training: length buckets, shuffled by seed and epoch, so that a run can be resumed exactly."""

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices


class BucketSampler(Sampler[int]):
    """Shuffles examples, or (``buckets``) batches of examples of like length.

    The order is a function of seed and epoch alone. transformers groups by length but sorts batches from
    long to short inside each mega-batch; here the batches are shuffled too.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int, buckets: bool) -> None:
        self.lengths, self.batch, self.seed, self.buckets = list(lengths), batch, seed, buckets
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer at each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        if not self.buckets:
            return iter(torch.randperm(len(self.lengths), generator=generator).tolist())
        order = get_length_grouped_indices(self.lengths, self.batch, generator=generator)
        batches = [order[at : at + self.batch] for at in range(0, len(order), self.batch)]
        last = batches.pop() if len(batches[-1]) < self.batch else []
        shuffled = torch.randperm(len(batches), generator=generator).tolist()
        return iter([index for at in shuffled for index in batches[at]] + last)
