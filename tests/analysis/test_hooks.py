"""What later models use: columns of two matrices, and a map of embeddings."""

import numpy as np
import pytest
import torch

from personae.analysis.columns import compare_columns
from personae.analysis.topics import draw_map, topic_map
from personae.errors import UserError


def test_orthogonal_and_parallel_columns():
    one = torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    other = torch.tensor([[0.0, -3.0], [0.0, 0.0], [5.0, 0.0]])
    found = compare_columns(one, other)
    torch.testing.assert_close(found.cosines, torch.tensor([[0.0, -1.0], [0.0, 0.0]], dtype=torch.double))
    assert (found.mean, found.largest) == (0.25, 1.0)


def test_a_column_of_zeros_is_orthogonal_to_all():
    assert compare_columns(torch.zeros(3, 1), torch.ones(3, 2)).largest == 0


def test_matrices_that_do_not_fit():
    with pytest.raises(UserError, match="equally many rows"):
        compare_columns(torch.zeros(3, 1), torch.zeros(2, 1))


def test_a_map_keeps_groups_together():
    generator = torch.Generator().manual_seed(0)
    groups = torch.eye(8)[:3].repeat_interleave(10, 0) * 20 + torch.randn(30, 8, generator=generator)
    points = topic_map(groups)
    assert points.shape == (30, 2)
    np.testing.assert_array_equal(points, topic_map(groups))
    of = np.repeat(range(3), 10)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.diag([np.inf] * 30)
    assert (of[distances.argmin(1)] == of).all()
    assert len(draw_map(points, [str(each) for each in of]).axes) == 1


@pytest.mark.parametrize("shape", [(3, 5), (10,)])
def test_too_little_for_a_map(shape):
    with pytest.raises(UserError, match="at least 4 rows"):
        topic_map(torch.zeros(shape))
