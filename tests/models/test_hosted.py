"""Sources on decoders of other families. Shapes: B batch, T prompt and reply."""

import copy
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.cache_utils import Cache, DynamicLayer

from personae.errors import UserError
from personae.layers.packed import PackedLinear, can_pack
from personae.models import DialogueModel, HostedModel
from personae.models.hosted.layout import layers_of
from tests.contract import test_generation as generation
from tests.contract import test_models as contract
from tests.helpers import ENCODER, IDS, SOURCES, batch_of, with_labels
from tests.models.hosted import FAMILIES, KNOWN, alone, hosted, known_words, loud

each_family = pytest.mark.parametrize("family", FAMILIES)


@each_family
@pytest.mark.parametrize("tune", ["all", "none", "lora"])
def test_at_first_it_says_what_the_base_says(family: str, tune: str) -> None:
    model, batch = hosted(family, tune=tune), known_words()
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        found = model(**batch).logits[..., :KNOWN]
    assert torch.equal(found[real], alone(model.base, batch)[real])


@each_family
def test_the_base_keeps_the_names_of_its_parameters(family: str) -> None:
    model = hosted(family)
    fresh = AutoModelForCausalLM.from_config(model.config.base)
    assert model.base.state_dict().keys() == fresh.state_dict().keys()
    assert [type(layer) for layer in layers_of(model.base)] == [type(layer) for layer in layers_of(fresh)]


@pytest.fixture(params=[*FAMILIES, "bert", "lora", "one layer", "shared", "condition", "condition mistral"])
def model(request: pytest.FixtureRequest) -> Any:
    """Every family, and every wiring of one of them."""
    wirings: dict[str, dict[str, Any]] = {
        "bert": {"encoder_kind": "bert", "encoder": {**ENCODER, "hidden_size": 12}},
        "lora": {"tune": "lora", "lora": {"r": 2, "targets": ["q_proj", "down_proj"]}},
        "one layer": {"layers": [1], "heads": 4},
        "shared": {"encoder_kind": "bert", "encoder": ENCODER, "share_encoder": True, "share_attention": True},
        "condition": {"fusion": "condition"},
        "condition mistral": {"family": "mistral", "fusion": "condition"},
    }
    return loud(hosted(**wirings.get(request.param, {"family": request.param, "tune": "all"})))


def test_it_keeps_the_contract_of_models(model: Any) -> None:
    contract.test_padding_changes_nothing(model, "left", "right", 3)
    contract.test_padding_changes_nothing(model, "right", "left", 0)
    contract.test_the_tokens_under_padding_do_not_matter(model)
    contract.test_every_source_and_every_token_matters(model)
    contract.test_no_look_ahead(model, 3)
    for chunk in (1, 4):
        contract.test_cached_steps_are_the_full_pass(model, chunk)
    contract.test_logits_to_keep_are_the_last(model)
    contract.test_accumulated_parts_are_the_big_batch(model)
    contract.test_voices_are_the_contributions_of_every_layer(model)


def test_it_keeps_the_contract_of_generation(model: Any) -> None:
    batch = batch_of(side="left")
    generation.test_greedy_is_the_uncached_argmax(model, batch)
    generation.test_a_left_padded_batch_is_its_single_members(
        model, batch, generation.BEAMS | {"num_return_sequences": 1}
    )
    generation.test_beams_score_what_they_return(model, batch)
    generation.test_samples_ask_their_own_examples_sources(model, batch)
    generation.test_a_memory_serves_many_replies(model, batch)


def test_what_is_trained_gets_a_gradient_and_nothing_else(model: Any) -> None:
    model(**with_labels(batch_of(), start=1)).loss.backward()
    trained = {key for key, one in model.named_parameters() if one.requires_grad}
    reached = {key for key, one in model.named_parameters() if one.grad is not None and one.grad.abs().sum() > 0}
    assert trained == reached


def test_save_and_load_are_equal(model: Any, tmp_path: Path) -> None:
    contract.test_save_and_load_are_equal(model, tmp_path)
    loaded = HostedModel.from_pretrained(tmp_path)
    assert {key for key, one in loaded.named_parameters() if one.requires_grad} == {
        key for key, one in model.named_parameters() if one.requires_grad
    }
    for key, value in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value), key
    contract.test_the_saved_configuration_is_the_models(model, tmp_path)


@pytest.mark.parametrize(("tune", "part"), [("none", None), ("lora", ".lora_")])
def test_a_step_changes_what_is_tuned_and_what_was_added(tune: str, part: str | None) -> None:
    model = loud(hosted(tune=tune)).train()
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.AdamW((one for one in model.parameters() if one.requires_grad), lr=0.01)
    model(**with_labels(batch_of(), start=1)).loss.backward()
    optimizer.step()
    changed = {key for key, value in model.state_dict().items() if not torch.equal(value, before[key])}
    ours = {key for key in before if not key.startswith("base.") or (part and part in key)}
    assert changed == ours
    assert any(key.startswith("words.") for key in ours)


def test_the_head_runs_on_labelled_rows_only(model: Any) -> None:
    batch, rows = with_labels(batch_of()), []
    labels = batch["labels"]
    hook = model.base.get_output_embeddings().register_forward_hook(lambda _, given, __: rows.append(given[0].shape))
    output = model(**batch)
    hook.remove()
    assert [shape[:-1] for shape in rows] == [(int((labels != -100).sum()),)]
    assert output.logits.shape == (rows[0][0], IDS["vocab_size"])


def test_only_chosen_layers_ask() -> None:
    model = hosted(layers=[1], encoder_kind="bert", encoder=ENCODER, share_attention=True)
    assert list(model.added) == ["1"]
    assert len(model.added["1"].asks) == 1
    assert list(model.encoders) == list(SOURCES)
    assert model.window == {"persona": 32, "context": 32, "decoder": 48}


def test_without_sources_it_is_the_base_in_a_dialogue() -> None:
    model = hosted(sources=(), tune="all")
    batch = known_words()
    assert not model.added
    assert torch.equal(model(**{**batch, "sources": {}}).logits[0, :, :KNOWN], alone(model.base, batch)[0])


def test_the_base_called_by_itself_asks_nobody() -> None:
    """Nor does it in another thread, while a model asks in this one."""
    model, batch = loud(hosted()), known_words()
    first, aside = alone(model.base, batch), []

    def meanwhile(*_: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            thread = threading.Thread(target=lambda: aside.append(alone(model.base, batch)))
            thread.start()
            thread.join()

    hook = model.base.get_output_embeddings().register_forward_hook(meanwhile)
    with torch.no_grad():
        asked = model(**batch).logits
    hook.remove()
    assert not torch.allclose(asked[..., :KNOWN], first)
    assert torch.equal(aside[0], first)
    assert torch.equal(alone(model.base, batch), first)


def test_a_copy_is_a_model_of_its_own() -> None:
    model = loud(hosted(tune="lora"))
    other = copy.deepcopy(model)
    with torch.no_grad():
        before = model(**batch_of()).logits
        assert torch.equal(other(**batch_of()).logits, before)
        for layer in other.added.values():
            layer.out.weight.zero_()
        assert torch.equal(model(**batch_of()).logits, before)
        assert not torch.equal(other(**batch_of()).logits, before)


def test_a_cache_that_cannot_hold_what_a_fusion_keeps_is_refused() -> None:
    model, batch = hosted(fusion="condition"), batch_of(side="left")
    with pytest.raises(UserError, match=r"fusion 'condition' keeps .* this is a Cache"):
        model(**batch, past_key_values=Cache(layer_class_to_replicate=DynamicLayer), use_cache=True)
    with pytest.raises(UserError, match="leave out cache_implementation"):
        config = GenerationConfig(
            max_new_tokens=2, cache_implementation="static", disable_compile=True, pad_token_id=39
        )
        model.generate(**batch, generation_config=config)


@pytest.mark.parametrize("family", ["llama", "qwen2", "smollm3", "mistral", "gpt_neox", "gpt2", "gemma2"])
@pytest.mark.parametrize("tune", ["all", "lora"])
def test_packed_it_answers_as_before(family: str, tune: str) -> None:
    model, batch = loud(hosted(family, tune=tune)), batch_of(lengths=(40, 30, 35))
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        expected = model(**batch).logits.softmax(-1)[real]
        buffers = {key: value.clone() for key, value in model.named_buffers()}
        found = model.pack()(**batch).logits.float().softmax(-1)[real]
    assert (found - expected).abs().mean() < 0.1 * expected.mean()
    assert all(parameter.dtype == torch.bfloat16 for parameter in model.parameters())
    assert all(torch.equal(value, buffers[key]) for key, value in model.named_buffers())
    if can_pack():
        layers = [*layers_of(model.base), *model.added.values()]
        assert any(isinstance(part, PackedLinear) for layer in layers for part in layer.modules())
        assert not any(isinstance(part, nn.Linear) for layer in layers for part in layer.modules())
    assert model.generate(**batch, max_new_tokens=3, do_sample=False).shape[1] == batch["input_ids"].shape[1] + 3


def test_it_is_registered() -> None:
    assert DialogueModel.get("hosted") is HostedModel
