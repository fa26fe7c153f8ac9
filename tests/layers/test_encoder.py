import pytest
import torch

from personae.layers.encoder import SourceEncoder, positions
from tests.helpers import CLOSE, ENCODER, shake


@pytest.mark.parametrize(
    ("mask", "expected"),
    [([1, 1, 1], [0, 1, 2]), ([0, 0, 1, 1], [0, 0, 0, 1]), ([1, 1, 0, 0], [0, 1, 1, 1]), ([0, 1, 0, 1], [0, 0, 0, 1])],
)
def test_positions_count_real_tokens(mask, expected):
    assert positions(torch.tensor([mask])).tolist() == [expected]
    assert positions(torch.tensor([mask]).bool()).tolist() == [expected]


def encoder(**options):
    torch.manual_seed(0)
    return shake(SourceEncoder(vocab_size=40, **{**ENCODER, **options})).eval()


def test_states_and_mask():
    mask = torch.tensor([[1, 1, 1], [0, 1, 1]])
    encoded = encoder()(torch.tensor([[4, 5, 6], [0, 4, 5]]), mask)
    assert encoded.states.shape == (2, 3, 16)
    assert torch.equal(encoded.mask, mask.bool())


def test_it_reads_both_ways():
    ids, mask = torch.tensor([[4, 5, 6]]), torch.ones(1, 3, dtype=torch.long)
    one, other = encoder()(ids, mask).states, encoder()(torch.tensor([[4, 5, 7]]), mask).states
    assert (one[0, 0] - other[0, 0]).abs().max() > 1e-3


def test_left_padding_changes_nothing():
    alone = encoder()(torch.tensor([[4, 5, 6]]), torch.ones(1, 3, dtype=torch.long)).states
    padded = encoder()(torch.tensor([[9, 9, 4, 5, 6]]), torch.tensor([[0, 0, 1, 1, 1]])).states
    torch.testing.assert_close(padded[:, 2:], alone, **CLOSE)


def test_given_positions_are_used():
    ids, mask = torch.tensor([[4, 5, 6]]), torch.ones(1, 3, dtype=torch.long)
    plain = encoder()(ids, mask).states
    torch.testing.assert_close(encoder()(ids, mask, torch.tensor([[0, 1, 2]])).states, plain, **CLOSE)
    assert (encoder()(ids, mask, torch.tensor([[3, 4, 5]])).states - plain).abs().max() > 1e-3


def test_the_pooler_is_counted_but_not_trained():
    plain, pooled = encoder(), encoder(pooler=True)
    extra = [one for name, one in pooled.named_parameters() if "pooler" in name]
    assert sum(one.numel() for one in extra) == 16 * 16 + 16
    assert not any(one.requires_grad for one in extra)
    assert all(one.requires_grad for one in plain.parameters())
    assert len(list(plain.parameters())) == len(list(pooled.parameters())) - len(extra)
