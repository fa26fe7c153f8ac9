"""Parity of adaptive LSTMs with numbers recorded from the published cells and stacks (Cai et al. 2019).

Cells agree to 1e-5. Over seven steps and two layers, layer norms multiply rounding: ours run in float64, and what is
left is the rounding of the recordings, which are float32.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from personae.layers.adaptive import AdaptiveLSTM, Given, Parameterisation, Sizes
from tests.parity import published_adand as published
from tests.parity.files import File, for_every_file

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
STACKED = {"atol": 3e-4, "rtol": 1e-3}


class Recording(File):
    """A cell or a stack."""

    @property
    def kind(self) -> str:
        return self.path.stem.removeprefix("cell_").removeprefix("rnn_").removesuffix("_bi").removesuffix("_uni")

    @property
    def hidden(self) -> int:
        name = "loss.r_hy" if "loss.r_hy" in self.tensors else "loss.r_y"
        return self.tensors[name].shape[-1] // (2 if self.path.stem.endswith("_bi") else 1)

    def sizes(self) -> dict[str, int]:
        """What the shapes tell of zeta, xi, topics, factors and squeezed width."""
        tensors, found = self.tensors, {}
        for key, value in tensors.items():
            if key.endswith("adaptive_cell.weight_hh") and key.startswith("w."):
                found["xi"] = value.shape[1]
            elif key.endswith("weight_hh_c") and key.startswith("w."):
                found["factors"] = value.shape[0]
            elif key.endswith(("zw_linear.weight", "adaptive_w_ih1.weight")) and key.startswith("w."):
                found["squeeze"] = value.shape[0]
        for name, key in (("context", "in.zeta"), ("topics", "in.theta")):
            if key in tensors:
                found[name] = tensors[key].shape[-1]
        return found

    def leaf(self, name: str) -> Tensor | None:
        found = self.tensors.get(f"in.{name}")
        return None if found is None else found.clone().requires_grad_()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "adand", "cell_*.safetensors", fixture="one_step")
    for_every_file(metafunc, "adand", "rnn_*.safetensors", fixture="stack")


@pytest.fixture
def one_step(request: pytest.FixtureRequest) -> Recording:
    return Recording.load(Path(request.param))


@pytest.fixture
def stack(request: pytest.FixtureRequest) -> Recording:
    return Recording.load(Path(request.param))


def load(module: torch.nn.Module, values: dict[str, Tensor]) -> None:
    """All parameters, no more and no fewer."""
    assert {key: each.shape for key, each in module.state_dict().items()} == {k: v.shape for k, v in values.items()}
    module.load_state_dict(values)


def same_gradients(module: torch.nn.Module, expected: dict[str, Tensor], close: dict[str, float]) -> None:
    """Within ``atol``, or within ``rtol`` of a parameter's largest entry."""
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        atol = close["atol"] + close["rtol"] * expected[name].abs().max().item()
        torch.testing.assert_close(
            parameter.grad, expected[name], rtol=0, atol=atol, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_a_step(one_step: Recording) -> None:
    tensors, size = one_step.tensors, one_step.hidden
    inputs, hidden, cell, zeta, theta = (one_step.leaf(name) for name in ("x", "h", "c", "zeta", "theta"))
    assert inputs is not None and hidden is not None and cell is not None
    sizes = Sizes(inputs=inputs.shape[-1], hidden=size, **one_step.sizes())
    module = Parameterisation.build(published.KINDS[one_step.kind], sizes=sizes)
    load(module, published.together([published.cell(published.below(tensors, "w."), one_step.kind)]))
    seen: dict[str, Tensor] = {}
    module.ending.register_forward_hook(lambda _, args, out: seen.update(before=args[0], side=args[1], cell=out[1]))
    step = module.prepare(inputs[None, None], Given(zeta, theta))
    following = step(0, published.state(hidden[None], cell[None], size))
    expected = published.state(tensors["out.h"][None], tensors["out.c"][None], size)
    for found, wanted in zip(following, expected, strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)
    torch.testing.assert_close(following[0][0], tensors["out.hy"], **CLOSE)
    same_intermediates(one_step, seen, following)
    r_h, r_c = (
        published.state(tensors[f"loss.r_{name}"][None], tensors[f"loss.r_{name}"][None], size) for name in "hc"
    )
    loss = (following[0][0] * tensors["loss.r_hy"]).sum()
    loss = loss + sum(((part * r).sum() for part, r in zip(following[::2], r_h[::2], strict=True)), start=loss * 0)
    loss = loss + sum(((part * r).sum() for part, r in zip(following[1::2], r_c[1::2], strict=True)), start=loss * 0)
    torch.testing.assert_close(loss, tensors["loss"], **CLOSE)
    loss.backward()
    same_gradients(
        module, published.together([published.cell(published.below(tensors, "grad_w."), one_step.kind)]), CLOSE
    )
    for name, leaf in (("x", inputs), ("h", hidden), ("c", cell), ("zeta", zeta), ("theta", theta)):
        if leaf is not None:
            torch.testing.assert_close(leaf.grad, tensors[f"grad_in.{name}"], **CLOSE)


def same_intermediates(recording: Recording, seen: dict[str, Tensor], following: tuple[Tensor, ...]) -> None:
    """Both sides of the gates and Phi's output, where they were recorded."""
    mid, kind = published.below(recording.tensors, "mid."), recording.kind
    if "post_layernorm_i" in mid:
        torch.testing.assert_close(seen["before"][0], published.gates(mid["post_layernorm_i"], kind), **CLOSE)
        torch.testing.assert_close(seen["side"][0], published.gates(mid["pre_layernorm_h"], kind), **CLOSE)
    if "post_layernorm_c" in mid:
        torch.testing.assert_close(seen["cell"][0], mid["post_layernorm_c"], **CLOSE)
    if "xi" in mid:
        torch.testing.assert_close(following[2][0], mid["xi"], **CLOSE)


def test_a_stack(stack: Recording) -> None:
    stack.tensors = {key: value.double() for key, value in stack.tensors.items()}
    tensors, size = stack.tensors, stack.hidden
    inputs, zeta, theta = (stack.leaf(name) for name in ("x", "zeta", "theta"))
    assert inputs is not None
    both = stack.path.stem.endswith("_bi")
    module = AdaptiveLSTM(published.KINDS[stack.kind], inputs.shape[-1], size, 2, both, **stack.sizes()).double()
    load(module, published.stack(published.below(tensors, "w."), stack.kind))
    outputs, last = module(inputs, given=Given(zeta, theta))
    torch.testing.assert_close(outputs, tensors["out.y"], **STACKED)
    loss = (outputs * tensors["loss.r_y"]).sum()
    for names, parts in (("h", [state[::2] for state in last]), ("c", [state[1::2] for state in last])):
        found = torch.cat([torch.cat(part, dim=-1) for part in parts])
        torch.testing.assert_close(found, tensors[f"out.{names}_n"], **STACKED)
        loss = loss + (found * tensors[f"loss.r_{names}"]).sum()
    torch.testing.assert_close(loss, tensors["loss"], **STACKED)
    loss.backward()
    same_gradients(module, published.stack(published.below(tensors, "grad_w."), stack.kind), STACKED)
    for name, leaf in (("x", inputs), ("zeta", zeta), ("theta", theta)):
        if leaf is not None:
            expected = tensors[f"grad_in.{name}"]
            atol = STACKED["atol"] + STACKED["rtol"] * expected.abs().max().item()
            torch.testing.assert_close(leaf.grad, expected, rtol=0, atol=atol)
