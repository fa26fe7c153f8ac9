"""Weights of the sources by layer."""

import pytest
import torch

from personae.analysis import write
from personae.analysis.means import Mean
from personae.analysis.weights import Weights, analyse_weights, with_shares
from personae.errors import UserError
from personae.evidence import Recorder
from tests.analysis.made import reading
from tests.helpers import tiny_model


class Stub:
    """A run of nothing but a model."""

    def __init__(self, model):
        self.model = lambda: model


@pytest.mark.parametrize("fusion", ["source-weight", "dimension-weight", "linear"])
def test_weights_are_read_from_the_parameters(fusion):
    model = tiny_model(fusion=fusion, variant="beside")
    found = analyse_weights(Stub(model))
    assert list(found.weights) == ["reply", "persona", "context"]
    for layer, block in enumerate(model.decoder.h):
        read = [line[layer].value for line in found.weights.values()]
        assert read == pytest.approx(block.fusion.source_weights().tolist())
    assert found.shares == {}


def test_what_depends_on_the_input_needs_data():
    with pytest.raises(UserError, match="give --data FILE"):
        analyse_weights(Stub(tiny_model(fusion="paa")))


def test_no_sources():
    with pytest.raises(UserError, match="fuses no sources"):
        analyse_weights(Stub(tiny_model(sources=())))


@pytest.mark.parametrize(
    ("name", "fusion"), [("fused", "sum"), ("fused", "max"), ("seq2seq", "sum"), ("hosted", "sum")]
)
def test_shares_are_those_of_evidence_at_the_replys_tokens(name, fusion):
    """The mean over layers of the shares is what evidence shows, token by token; sum never is silent."""
    model = tiny_model(name, fusion)
    given = reading(model)
    found = with_shares(Weights(fusion), given, ["persona", "context"], None)
    total, tokens = torch.zeros(2), 0
    for one in given.packed:
        with torch.no_grad(), Recorder(model, ("persona", "context")) as recorder:
            model(**given.speaker.collate([one]))
        start = len(one.prompt) - 1
        total += recorder.passes[0][0, start : start + len(one.reply)].sum(0)
        tokens += len(one.reply)
    for voice, share in zip(("persona", "context"), (total / tokens).tolist(), strict=True):
        values = [mean.value for mean in found.shares[voice]]
        assert sum(values) / len(values) == pytest.approx(share, abs=1e-5)
        assert all(mean.low <= mean.value <= mean.high for mean in found.shares[voice])
    assert "|n:4|conv:2|at:reply-tokens|" in found.signatures[0]


def test_silent_tokens_are_left_out():
    """With every mask closed nothing speaks: no share, and no division by nothing."""
    model = tiny_model(fusion={"name": "paa", "tau": 1.0})
    for block in model.decoder.h:
        block.fusion.gate.weight.data.zero_()
        block.fusion.gate.bias.data.zero_()
    found = with_shares(Weights("paa"), reading(model), ["persona", "context"], None)
    assert all(mean.value != mean.value for line in found.shares.values() for mean in line)
    assert found.as_dict()["contribution_shares"]["persona"][0]["value"] is None


def test_files(tmp_path):
    lines = {"persona": [Mean(0.2, (0.1, 0.3)), Mean(0.4)], "context": [Mean(0.8), Mean(0.6)]}
    found = Weights("sum", "a meaning", lines, lines)
    names = [path.name for path in write(tmp_path, found)]
    assert names == ["weights.json", "weights.png", "weights.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    first = (tmp_path / "weights.svg").read_bytes()
    write(tmp_path, found)
    assert (tmp_path / "weights.svg").read_bytes() == first
