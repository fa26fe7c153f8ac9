import pytest
import torch

from personae.fusion import Fusion, View


@pytest.mark.parametrize("count", [1, 2, 3])
def test_contributions_are_the_answers_as_they_are(count):
    answers = [torch.randn(2, 3, 4) for _ in range(count)]
    mask = torch.ones(2, 5, dtype=torch.bool)
    views = [View(torch.randn(2, 5, 4), mask, torch.randn(2, 3, 4), lambda _, one=one: one) for one in answers]
    given = Fusion.build("sum", dim=4, sources=count)(torch.randn(2, 3, 4), views)
    assert len(given) == count
    for contribution, answer in zip(given, answers, strict=True):
        assert torch.equal(contribution, answer)


def test_it_has_no_parameters():
    assert list(Fusion.build("sum", dim=4, sources=2).parameters()) == []


def test_the_answer_is_asked_with_the_layers_own_query():
    query = torch.randn(2, 3, 4)
    view = View(torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool), query, lambda given: 2 * given)
    assert torch.equal(Fusion.build("sum", dim=4, sources=1)(torch.randn(2, 3, 4), [view])[0], 2 * query)
