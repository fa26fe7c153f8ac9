"""What holds for every model with every fusion that fits two sources. Shapes: B batch, T prompt and reply."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.cache_utils import DynamicCache

from personae.fusion import Fusion
from personae.models import DialogueModel
from tests.helpers import (
    ADAND,
    CLOSE,
    PAD,
    SEQ2SEQ,
    SOURCES,
    VARIANTS,
    Batch,
    batch_of,
    fitting,
    only,
    tiny_model,
    with_labels,
)

# Every fusion in the fused model; in others one with gates, one without, and one that needs the reply so far.
FEW = ("paa", "sum", "condition")
PAIRS = [(name, each, "plain") for name in DialogueModel.names() for each in (fitting() if name == "fused" else FEW)]
BESIDE = [("fused", name, "beside") for name in fitting(3) if Fusion.get(name).outputs_only]
WIRED = [(variant, "sum" if "block" in options else "paa") for variant, options in VARIANTS.items()]
CASES = [*PAIRS, *BESIDE, *(("fused", fusion, name) for name, fusion in WIRED if name not in ("plain", "beside"))]
CASES += [("seq2seq", "sum", name) for name in SEQ2SEQ] + [("adand", "sum", name) for name in ADAND]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def shared(request: pytest.FixtureRequest) -> DialogueModel:
    # In float64 what differs is a mistake, never rounding.
    return tiny_model(*request.param).double()


@pytest.fixture
def model(shared: DialogueModel) -> DialogueModel:
    """A model without gradients from earlier tests."""
    shared.eval().zero_grad(set_to_none=True)
    return shared


def logits(model: DialogueModel, batch: Batch) -> list[Tensor]:
    """Per example, (T, V) logits of its real tokens."""
    with torch.no_grad():
        found = model(**batch).logits
    return [one[mask.bool()] for one, mask in zip(found, batch["attention_mask"], strict=True)]


def assert_same(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize(("side", "source_side"), [("left", "right"), ("right", "left"), ("left", "left")])
def test_padding_changes_nothing(model: DialogueModel, side: str, source_side: str, extra: int) -> None:
    expected = logits(model, batch_of())
    assert_same(logits(model, batch_of(side=side, source_side=source_side, extra=extra)), expected)


def test_the_tokens_under_padding_do_not_matter(model: DialogueModel) -> None:
    batch, other = batch_of(extra=2), batch_of(extra=2)
    for part in (other, *other["sources"].values()):
        part["input_ids"] = part["input_ids"].masked_fill(part["attention_mask"] == 0, 5)
    assert_same(logits(model, other), logits(model, batch))


def test_a_batch_is_its_single_members(model: DialogueModel) -> None:
    batch = batch_of(side="left", source_side="left")
    together = logits(model, batch)
    for row, expected in enumerate(together):
        assert_same(logits(model, only(batch, row)), [expected])


def test_every_source_and_every_token_matters(model: DialogueModel) -> None:
    batch = batch_of()
    expected = logits(model, batch)
    for name in batch["sources"]:
        other = copy.deepcopy(batch)
        other["sources"][name]["input_ids"][:, 0] += 1
        assert all((one - two).abs().max() > 1e-3 for one, two in zip(logits(model, other), expected, strict=True))


@pytest.mark.parametrize("at", [1, 3, 5])
def test_no_look_ahead(model: DialogueModel, at: int) -> None:
    batch = batch_of()
    changed = {**batch, "input_ids": batch["input_ids"].clone()}
    changed["input_ids"][:, at:] = (changed["input_ids"][:, at:] + 1) % PAD
    before, after = logits(model, batch), logits(model, changed)
    assert_same([one[:at] for one in after], [one[:at] for one in before])
    assert (after[0][at:] - before[0][at:]).abs().max() > 1e-3


@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_cached_steps_are_the_full_pass(model: DialogueModel, chunk: int) -> None:
    batch = batch_of(side="left")
    ids, mask, cache = batch["input_ids"], batch["attention_mask"], DynamicCache()
    steps = []
    with torch.no_grad():
        memory = model.encode(batch["sources"])
        for at in range(0, ids.shape[1], chunk):
            end = at + chunk
            found = model(ids[:, at:end], mask[:, :end], past_key_values=cache, memory=memory, use_cache=True)
            steps.append(found.logits)
    stepwise = torch.cat(steps, dim=1)
    assert_same([one[real.bool()] for one, real in zip(stepwise, mask, strict=True)], logits(model, batch))


def test_logits_to_keep_are_the_last(model: DialogueModel) -> None:
    batch = batch_of(side="left")
    with torch.no_grad():
        torch.testing.assert_close(model(**batch, logits_to_keep=2).logits, model(**batch).logits[:, -2:], **CLOSE)


class HeadRows(TorchFunctionMode):
    """Counts the rows that any function maps to the vocabulary's width."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words, self.rows = words, 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if function in (torch.nn.functional.linear, torch.matmul, Tensor.matmul) and out.shape[-1] == self.words:
            self.rows += out.numel() // self.words
        return out


def test_the_head_runs_on_labelled_rows_only(model: DialogueModel) -> None:
    batch = with_labels(batch_of())
    labels = batch["labels"]
    with HeadRows(model.config.vocab_size) as head:
        output = model(**batch)
    assert head.rows == (labels != -100).sum()
    assert output.logits.shape == ((labels != -100).sum(), model.config.vocab_size)
    full = model(**batch_of()).logits.log_softmax(-1)
    for row, at in (labels != -100).nonzero().tolist():
        assert output.nll[row, at].item() == pytest.approx(-full[row, at - 1, labels[row, at]].item(), abs=1e-5)
    assert (output.nll[labels == -100] == 0).all()
    assert output.terms["nll"].item() == pytest.approx((output.nll.sum() / (labels != -100).sum()).item(), rel=1e-6)
    assert output.loss.item() == pytest.approx(sum(term.item() for term in output.terms.values()), rel=1e-6)


def test_accumulated_parts_are_the_big_batch(model: DialogueModel) -> None:
    batch = with_labels(batch_of())
    items = (batch["labels"] != -100).sum()
    whole = model(**batch).loss
    whole.backward()
    expected = {key: one.grad.clone() for key, one in model.named_parameters() if one.grad is not None}
    model.zero_grad(set_to_none=True)
    parts = [model(**only(batch, row), num_items_in_batch=items).loss for row in range(3)]
    sum(parts).backward()
    torch.testing.assert_close(sum(parts), whole, **CLOSE)
    assert len({round(part.item(), 4) for part in parts}) == 3
    for key, parameter in model.named_parameters():
        if key in expected:
            torch.testing.assert_close(parameter.grad, expected[key], atol=1e-4, rtol=1e-4)


def test_every_parameter_gets_a_gradient(model: DialogueModel) -> None:
    model(**with_labels(batch_of(), start=1)).loss.backward()
    for key, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, key
            assert parameter.grad.isfinite().all(), key
            assert parameter.grad.abs().sum() > 0, key


def test_training_mode_drops_out_and_the_seed_decides(model: DialogueModel) -> None:
    batch = with_labels(batch_of())
    model.train()
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        losses.append(model(**batch).loss.item())
    assert losses[0] == losses[1] != losses[2]


def test_a_packed_model_reads_and_speaks(model: DialogueModel) -> None:
    """No part may reach for a weight that packing has laid out anew."""
    batch = batch_of(side="left")
    packed = copy.deepcopy(model).pack()
    assert all(parameter.dtype == torch.bfloat16 for parameter in packed.parameters())
    for ours, theirs in zip(logits(packed, batch), logits(model, batch), strict=True):
        assert ours.isfinite().all()
        assert ours.shape == theirs.shape
    assert packed.generate(**batch, max_new_tokens=2, do_sample=False).shape[0] == 3


def test_save_and_load_are_equal(model: DialogueModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"config.json", "generation_config.json", "model.safetensors"}
    batch = batch_of(side="left")
    expected = model.generate(**batch, max_new_tokens=6, do_sample=False)
    for loaded in (type(model).from_pretrained(tmp_path), AutoModelForCausalLM.from_pretrained(tmp_path)):
        assert isinstance(loaded, type(model))
        assert not loaded.training
        for ours, theirs in zip(logits(loaded, batch), logits(model, batch), strict=True):
            assert torch.equal(ours, theirs)
        assert torch.equal(loaded.generate(**batch, max_new_tokens=6, do_sample=False), expected)


def test_the_saved_configuration_is_the_models(model: DialogueModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    config = AutoConfig.from_pretrained(tmp_path)
    assert isinstance(config, type(model).config_class)
    assert config.model_type == type(model).model_type()
    again = AutoModelForCausalLM.from_config(config)
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    assert {key: value.shape for key, value in again.state_dict().items()} == shapes
    assert [value.requires_grad for value in again.parameters()] == [one.requires_grad for one in model.parameters()]


def test_windows_name_every_source_and_the_decoder(model: DialogueModel) -> None:
    assert model.window.keys() == {"persona", "context", "decoder"}
    assert all(size >= 32 for size in model.window.values())


def test_voices_are_the_contributions_of_every_layer(model: DialogueModel) -> None:
    counts = []
    fusions = [module for module in model.modules() if isinstance(module, Fusion)]
    hooks = [fusion.register_forward_hook(lambda _, __, out: counts.append(len(out))) for fusion in fusions]
    logits(model, batch_of())
    for hook in hooks:
        hook.remove()
    assert set(counts) == {len(model.voices)}
    assert model.voices in (SOURCES, ("reply", *SOURCES))


def test_it_says_in_a_line_what_it_is() -> None:
    for name in DialogueModel.names():
        assert len(DialogueModel.get(name).summary()) > 20
