import torch

from personae.layers.memory import Encoded


def encoded():
    return Encoded(torch.randn(2, 3, 4), torch.tensor([[1, 1, 0], [1, 1, 1]]).bool())


def test_the_rows_of_the_batch_itself_are_not_copied():
    one = encoded()
    states, mask = one.rows(2)
    assert states is one.states
    assert mask is one.mask


def test_the_copies_of_an_example_stand_side_by_side_and_are_made_once():
    one = encoded()
    states, mask = one.rows(6)
    assert torch.equal(states[:3], one.states[:1].expand(3, 3, 4))
    assert torch.equal(states[3:], one.states[1:].expand(3, 3, 4))
    assert mask.sum(-1).tolist() == [2, 2, 2, 3, 3, 3]
    assert one.rows(6)[0] is states
