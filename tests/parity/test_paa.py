"""Parity with numbers recorded from the published PAA code; padding positions as published, on purpose."""

import pytest
import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from personae.fusion import Fusion, View
from tests.parity.files import for_every_file
from tests.parity.published_paa import NotOfferedError, Recording, padded_positions

CLOSE = {"atol": 1e-4, "rtol": 1e-4}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "paa")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Recording:
    found = Recording.load(request.param)
    try:
        found.fusion()
    except NotOfferedError as reason:
        pytest.skip(str(reason))
    return found


def test_encoders(recording: Recording) -> None:
    memory = recording.model().encode(recording.sources())
    for name in ("persona", "context"):
        real = memory[name].mask
        torch.testing.assert_close(memory[name].states[real], recording.tensors[f"enc.{name}"][real], **CLOSE)


def test_logits_losses_and_gradients(recording: Recording) -> None:
    model = recording.model()
    ids, mask, labels = recording.row()
    inputs = {"attention_mask": mask, "position_ids": padded_positions(ids), "sources": recording.sources()}
    start = ids.shape[1] - labels.shape[1] + recording.prompt()[0].shape[1] - 1
    logits = model(ids, **inputs).logits[:, start:]
    real = torch.cat([torch.ones(ids.shape[0], 1), recording.tensors["in.target_mask"]], dim=1).bool()
    torch.testing.assert_close(logits[real], recording.tensors["logits"][real], **CLOSE)
    output = model(ids, labels=labels, **inputs)
    torch.testing.assert_close(output.loss, recording.tensors["loss"], **CLOSE)
    torch.testing.assert_close(output.nll[:, start + 1 :], recording.tensors["token_loss"], **CLOSE)
    output.loss.backward()
    check_gradients(model, recording)


def check_gradients(model: torch.nn.Module, recording: Recording) -> None:
    ours = dict(model.named_parameters())
    for key, expected in recording.tensors.items():
        if key.startswith("grad.") and not key.startswith("grad.cls_head"):
            name = recording.ours(key.removeprefix("grad."))
            if name in ours:
                torch.testing.assert_close(ours[name].grad, expected, atol=1e-4, rtol=1e-3)
    for name, norm in recording.grad_norms.items():
        parameter = ours.get(recording.ours(name))
        if parameter is None or parameter.grad is None:
            assert not norm, name
        elif norm is not None:
            assert parameter.grad.norm().item() == pytest.approx(norm, rel=1e-3, abs=1e-4), name


def test_inside_every_layer(recording: Recording) -> None:
    seen: list[tuple[Tensor, list[Tensor], tuple[Tensor, ...]]] = []

    def note(_: Fusion, args: tuple[Tensor, list[View]], out: tuple[Tensor, ...]) -> None:
        seen.append((args[0], [view.output for view in args[1]], out))

    model = recording.model()
    for module in model.modules():
        if isinstance(module, Fusion):
            module.register_forward_hook(note)
    ids, mask, _ = recording.row()
    with torch.no_grad():
        model(ids, attention_mask=mask, position_ids=padded_positions(ids), sources=recording.sources())
    for layer, (hidden, answers, contributions) in enumerate(seen):
        recorded = {key: recording.tensors[f"layer{layer}.{key}"][:, : ids.shape[1]][mask.bool()] for key in LAYER}
        torch.testing.assert_close(hidden[mask.bool()], recorded["h_R"], **CLOSE)
        torch.testing.assert_close(answers[0][mask.bool()], recorded["o_persona"], **CLOSE)
        torch.testing.assert_close(answers[1][mask.bool()], recorded["o_context"], **CLOSE)
        torch.testing.assert_close((hidden + sum(contributions))[mask.bool()], recorded["fused"], **CLOSE)
        check_masks(recording, layer, contributions, mask)


LAYER = ("h_R", "o_persona", "o_context", "fused")


def check_masks(recording: Recording, layer: int, contributions: tuple[Tensor, ...], mask: Tensor) -> None:
    """Where the published masks are closed our contribution is exactly 0; where one is open it is not."""
    *own, persona, context = contributions
    names = [["mask_persona"], ["mask_context"], ["mask_persona_self", "mask_context_self"]]
    for parts, contribution in zip(names, [persona, context, *own], strict=False):
        masks = [recording.tensors[key] for part in parts if (key := f"layer{layer}.{part}") in recording.tensors]
        if masks:
            opened = torch.stack([one[:, : mask.shape[1]].expand_as(contribution) for one in masks]).bool().any(0)
            assert torch.equal(contribution[mask.bool()] != 0, opened[mask.bool()])


@pytest.mark.parametrize("example", [0, 1, 2])
def test_alone_without_padding(recording: Recording, example: int) -> None:
    expected = recording.tensors.get(f"alone{example}.logits")
    if expected is None:
        pytest.skip("the file records no single examples")
    rows = slice(example, example + 1)
    ids, _ = recording.prompt(rows, unpadded=True)
    target = recording.tensors["in.target_ids"][rows, : expected.shape[1] - 1]
    ids = torch.cat([ids, target], dim=1)
    with torch.no_grad():
        logits = recording.model()(ids, sources=recording.sources(rows, unpadded=True)).logits
    torch.testing.assert_close(logits[:, -expected.shape[1] :], expected, **CLOSE)


def test_greedy(recording: Recording) -> None:
    """Cached steps give the published uncached ids."""
    model, cache = recording.model(), DynamicCache()
    expected = recording.tensors["gen.ids"]
    ids, mask = recording.prompt()
    with torch.no_grad():
        memory = model.encode(recording.sources())
        for step in range(expected.shape[1]):
            place = torch.arange(mask.shape[1])[None, -ids.shape[1] :].expand_as(ids)
            logits = model(ids, mask, place, past_key_values=cache, memory=memory).logits[:, -1]
            torch.testing.assert_close(logits, recording.tensors["gen.step_logits"][step], **CLOSE)
            ids = logits.argmax(-1, keepdim=True)
            assert torch.equal(ids[:, 0], expected[:, step]), step
            mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
