"""Fusions of Cao et al. (2020) against the answers and sums recorded from the published code, layer by layer."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from personae.fusion import Fusion
from tests.fusion.answers import views_of
from tests.parity.files import for_every_file

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
# The published mode -> our fusion, for the modes that we offer.
FUSIONS = {
    "mean": "mean",
    "max": "max",
    "min": "min",
    "linear": "linear",
    "sw": "source-weight-published",
    "dw": "dimension-weight-published",
    "att": "attention-published",
}
RENAMED = {"": "weight", "weight": "linear.weight", "bias": "linear.bias", "c_proj.bias": "project.bias"}
CONV1D = "c_proj.weight"  # (in, out) as published
FUTURE = "its weights are means over all positions of the reply: in training it sees the future"


def metadata(path: Path) -> dict[str, str]:
    with safe_open(path, "pt") as file:
        return {**(file.metadata() or {}), "fused": "yes" if "fuse.0.out" in file.keys() else ""}  # noqa: SIM118


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    keep = {"keep": lambda path: bool(metadata(path)["fused"]), "fixture": "path", "indirect": False}
    for_every_file(metafunc, "multi-source", **keep)


class Recorded:
    """One file: its tensors, and our fusion of one layer with the recorded parameters."""

    def __init__(self, path: Path) -> None:
        self.info, self.tensors = metadata(path), load_file(path)
        if self.info["fusion"] not in FUSIONS:
            pytest.skip(f"mode {self.info['fusion']} is not offered: {FUTURE}")
        self.layers = range(int(self.info["n_layer"]))
        self.name = FUSIONS[self.info["fusion"]]

    def outputs(self, layer: int) -> list[Tensor]:
        """The answers of self-attention, persona and history, each (B, T, D)."""
        return [self.tensors[f"fuse.{layer}.{view}"] for view in ("self", "persona", "history")]

    def parameters(self, kind: str, layer: int) -> dict[str, Tensor]:
        """Recorded parameters under our names; ``kind`` is "w" or "init"."""
        prefix = f"{kind}.transformer.h.{layer}.attention_module"
        recorded = {key: one for key, one in self.tensors.items() if key.startswith(prefix)}
        found = {key.removeprefix(prefix).lstrip("."): one for key, one in recorded.items()}
        turned = {"project.weight": found.pop(CONV1D).T} if CONV1D in found else {}
        return {**{RENAMED[key]: one for key, one in found.items()}, **turned}

    def fresh(self) -> Fusion:
        dim = self.outputs(0)[0].shape[-1]
        torch.manual_seed(0)
        options = {"heads": int(self.info["n_head"])} if self.info["fusion"] == "att" else {}
        return Fusion.build(self.name, dim=dim, sources=3, **options)

    def fusion(self, layer: int) -> Fusion:
        fusion = self.fresh()
        fusion.load_state_dict(self.parameters("w", layer))
        return fusion


def test_contributions_sum_to_the_published_output(path: Path) -> None:
    recorded = Recorded(path)
    for layer in recorded.layers:
        outputs = recorded.outputs(layer)
        given = recorded.fusion(layer)(torch.zeros_like(outputs[0]), views_of(outputs))
        torch.testing.assert_close(sum(given), recorded.tensors[f"fuse.{layer}.out"], **CLOSE)


def test_weights(path: Path) -> None:
    recorded = Recorded(path)
    if "fuse.0.weights" not in recorded.tensors:
        pytest.skip("this mode records no weights")
    for layer in recorded.layers:
        expected = recorded.tensors[f"fuse.{layer}.weights"]
        torch.testing.assert_close(weights(recorded, layer), expected, **CLOSE)


def weights(recorded: Recorded, layer: int) -> Tensor:
    """Those of attention (B, H, T, T), or those that each view is multiplied with before the mean, (N, 1 or D)."""
    fusion = recorded.fusion(layer)
    if recorded.info["fusion"] != "att":
        return 3 * fusion.shares()
    _, query, keys = (fusion.split(one) for one in recorded.outputs(layer))
    batch, _, time, _ = query.shape
    return fusion.weigh(query, keys, torch.ones(batch, time, time).bool().tril())


def test_the_published_start(path: Path) -> None:
    recorded = Recorded(path)
    start: Mapping[str, Tensor] = recorded.parameters("init", 0)
    if not start:
        pytest.skip("this file records no start")
    ours = dict(recorded.fresh().named_parameters())
    assert ours.keys() == start.keys()
    for key, expected in start.items():
        if recorded.info["fusion"] != "linear":
            torch.testing.assert_close(ours[key], expected)
        else:  # uniform, up to the root of what goes in
            limit = (3 * expected.shape[0]) ** -0.5
            for drawn in (expected, ours[key]):
                assert 0.8 * limit < drawn.abs().max() <= limit
