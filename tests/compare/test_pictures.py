"""Pictures: names that do not cover each other, looks that differ."""

import io
from itertools import combinations, pairwise

import pytest
from matplotlib.text import Text

from personae.compare import make_comparison
from personae.compare.cost import cost_picture, spread
from personae.compare.style import look, reach
from personae.fusion import Fusion
from personae.metrics import Metric
from tests.compare.made import made_plan, questions, replies


@pytest.mark.parametrize("heights", [[0.5] * 8, [0.0, 0.01, 0.02, 0.9], [0.98, 0.99, 1.0], [0.1, 0.5, 0.9], []])
def test_heights_are_spread_and_stay_inside(heights):
    placed = spread(heights, 0.05)
    assert all(high - low >= 0.05 - 1e-9 for low, high in pairwise(placed))
    assert all(-1e-9 <= height <= 1 + 1e-9 for height in placed)


def test_heights_with_room_stay_where_they_are():
    assert spread([0.1, 0.5, 0.9], 0.05) == [0.1, 0.5, 0.9]
    assert spread([0.4, 0.4], 0.1) == pytest.approx([0.35, 0.45])


def test_no_two_of_many_recipes_look_alike():
    looks = [look(number) for number in range(28)]
    assert all(one != other for one, other in combinations(looks, 2))
    assert all(look(number)["color"] != look(number + 1)["color"] for number in range(27))


def test_how_far_an_interval_reaches():
    assert reach(1.0, (0.75, 1.5)) == (0.25, 0.5)
    assert reach(1.0, None) == (0.0, 0.0)


def test_the_names_of_many_recipes_do_not_cover_each_other(tmp_path, monkeypatch):
    """Nineteen recipes of nearly the same score."""
    monkeypatch.setattr(Metric, "_classes", {"f1": Metric._classes["f1"]})
    data = questions(tmp_path)
    names = Fusion.names()[:19]
    said = {name: [replies(data, [at < number % 5 for at in range(6)])] for number, name in enumerate(names)}
    figure = cost_picture("f1", make_comparison(made_plan(tmp_path, said, data), {}))
    figure.savefig(io.BytesIO(), format="png")  # places everything
    for axes in figure.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # an annotation's own has its line in it
        assert len(boxes) == 19
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
