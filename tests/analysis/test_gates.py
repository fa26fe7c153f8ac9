"""Gates and masks by layer and token."""

import pytest
import torch

from personae.analysis.gates import example_of, gates_of, heat_map
from personae.analysis.reading import fusions_of
from personae.errors import UserError
from personae.fusion import Fusion
from tests.analysis.made import REPLIES, reading
from tests.helpers import tiny_model

GATED = [name for name in Fusion.names() if Fusion.get(name).gated]
SOURCES = ["persona", "context"]


def held(logit: float, tau: float, name: str = "paa"):
    """A model whose gates are all sigmoid(logit)."""
    model = tiny_model(fusion={"name": name, "tau": tau})
    for fusion in fusions_of(model):
        fusion.gate.weight.data.zero_()
        fusion.gate.bias.data.fill_(logit)
    return reading(model)


def test_paa_and_its_variants_are_gated():
    assert {"paa", "paa-open", "paa-straight-through", "skipped", "context", "dual", "dual-published"} <= {*GATED}
    assert not {"sum", "linear", "routing", "condition"} & {*GATED}


@pytest.mark.parametrize(
    ("logit", "tau", "weights", "opened", "closed"),
    [
        (1.0, 0.5, (0.731059, 0.268941), (1, 0), 0),
        (-1.0, 0.5, (0.268941, 0.731059), (0, 1), 0),
        (0.0, 0.7, (0.5, 0.5), (0, 0), 1),  # the dead zone
        (0.0, 0.2, (0.5, 0.5), (1, 1), 0),
    ],
)
def test_a_gate_held_at_a_value(logit, tau, weights, opened, closed):
    sums = held(logit, tau).by_layer(gates_of, 6)
    tokens = [len(reply) + 1 for reply in REPLIES]
    assert sums[:, :, -1].tolist() == [[count, count] for count in tokens]
    means = sums.sum(0) / sum(tokens)
    for layer in means:
        assert layer[:5].tolist() == pytest.approx([*weights, *opened, closed], abs=1e-5)


@pytest.mark.parametrize("name", GATED)
def test_every_gated_fusion_can_be_watched(name):
    given = reading(tiny_model(fusion=name))
    sums = given.by_layer(gates_of, 6)
    assert sums.shape == (4, 2, 6)
    means = sums[..., :5] / sums[..., -1:]
    assert ((means >= 0) & (means <= 1 + 1e-6)).all()


def test_watching_changes_nothing_and_leaves_no_hook():
    given = held(1.0, 0.5)
    model = given.speaker.model
    given.by_layer(gates_of, 6)
    assert not any(fusion._forward_hooks for fusion in fusions_of(model))


def test_the_example_shows_each_predicted_token():
    given = held(1.0, 0.5)
    example = example_of(given, 2, SOURCES)
    assert list(example.tokens) == [f"[{token}]" for token in (*REPLIES[2], 38)]
    assert example.through["persona"].shape == (2, len(REPLIES[2]) + 1)
    torch.testing.assert_close(example.through["persona"], torch.full((2, 6), 0.731059))
    assert (example.through["context"] == 0).all()
    axes = heat_map(example).axes
    assert [each.get_title() for each in axes[:2]] == SOURCES
    with pytest.raises(UserError, match="examples 0 to 3"):
        example_of(given, 4, SOURCES)
