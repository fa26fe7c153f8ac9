from itertools import pairwise

import pytest
import torch

from personae.training.batches import BucketSampler

LENGTHS = torch.randint(5, 200, (103,), generator=torch.Generator().manual_seed(0)).tolist()
BATCH = 4


def order(seed=0, epoch=0, buckets=True):
    sampler = BucketSampler(LENGTHS, BATCH, seed, buckets)
    sampler.set_epoch(epoch)
    return list(sampler)


def spread(indices):
    """Mean difference between the longest and the shortest of a batch."""
    batches = [[LENGTHS[index] for index in indices[at : at + BATCH]] for at in range(0, len(indices), BATCH)]
    return sum(max(batch) - min(batch) for batch in batches) / len(batches)


@pytest.mark.parametrize("buckets", [True, False])
def test_every_example_comes_once(buckets):
    assert sorted(order(buckets=buckets)) == list(range(len(LENGTHS)))
    assert len(BucketSampler(LENGTHS, BATCH, 0, buckets)) == len(LENGTHS)


@pytest.mark.parametrize("buckets", [True, False])
def test_seed_and_epoch_decide_and_nothing_else(buckets):
    first = order(3, 2, buckets)
    torch.manual_seed(99)
    assert order(3, 2, buckets) == first
    others = [order(3, 1, buckets), order(4, 2, buckets), order(0, 0, buckets)]
    assert all(other != first for other in others)


@pytest.mark.parametrize("buckets", [True, False])
def test_drawing_the_order_leaves_the_global_generator_alone(buckets):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    order(buckets=buckets)
    assert torch.equal(torch.rand(1), expected)


def test_batches_hold_examples_of_like_length():
    assert spread(order()) < 0.5 * spread(order(buckets=False))


def test_batches_are_not_sorted_by_length():
    """Long to short inside an epoch would make the loss curve one of lengths."""
    means = [sum(LENGTHS[index] for index in order()[at : at + BATCH]) for at in range(0, 100, BATCH)]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)
    falls = sum(one > other for one, other in pairwise(means))
    assert 0.2 < falls / (len(means) - 1) < 0.8


def test_only_the_last_batch_is_short():
    assert [len(order()[at : at + BATCH]) for at in range(0, len(LENGTHS), BATCH)][:-1] == [BATCH] * 25


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_few_examples(count):
    sampler = BucketSampler(list(range(1, count + 1)), BATCH, 0, True)
    assert sorted(sampler) == list(range(count))
