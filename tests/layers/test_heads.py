"""Heads that score candidate replies. Shapes: B batch, C candidates, T row, D width."""

import pytest
import torch

from personae.layers.heads import BinaryHead, ChoiceHead, gold_rows, last_real


def test_the_last_real_token_on_either_side_of_padding():
    mask = torch.tensor([[1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1]])
    assert last_real(mask).tolist() == [2, 3, 0, 3]
    assert last_real(mask.bool()).tolist() == [2, 3, 0, 3]


def test_a_score_is_linear_in_the_last_real_state():
    torch.manual_seed(0)
    head, states = ChoiceHead(6), torch.randn(2, 4, 6)
    scores = head(states, torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1]]))
    expected = torch.stack([states[0, 1], states[1, 3]]) @ head.score.weight[0] + head.score.bias
    torch.testing.assert_close(scores, expected)


def test_a_choice_is_one_softmax_over_the_candidates():
    scores, gold = torch.tensor([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]]), torch.tensor([1, 2])
    expected = torch.stack([-scores[0].softmax(-1)[1].log(), torch.tensor(3.0).log()])
    torch.testing.assert_close(ChoiceHead(4).losses(scores, gold), expected)


def test_a_binary_head_judges_each_candidate_for_itself():
    scores, gold = torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([1])
    right = torch.sigmoid(scores[0])
    expected = -((1 - right[0]).log() + right[1].log() + (1 - right[2]).log()) / 3
    torch.testing.assert_close(BinaryHead(4).losses(scores, gold), expected[None])


@pytest.mark.parametrize("side", ["left", "right"])
def test_input_rows_are_the_beginning_of_their_gold_candidates(side):
    """Two examples of 2 and 3 real tokens; their candidates are one token longer."""
    real = torch.tensor([[[1, 1, 1, 1], [1, 1, 1, 0]], [[1, 1, 1, 1], [1, 1, 0, 0]]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    if side == "left":
        real, mask = real.flip(-1), mask.flip(-1)
    states = torch.arange(2 * 2 * 4).view(2, 2, 4, 1).float()
    found = gold_rows(states, {"attention_mask": real, "labels": torch.tensor([1, 0])}, mask)
    expected = {"right": [[4, 5, 0], [8, 9, 10]], "left": [[0, 5, 6], [8, 9, 10]]}[side]
    assert found[..., 0].tolist() == expected
