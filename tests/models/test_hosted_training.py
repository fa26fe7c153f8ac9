"""Hosted models trained from a base with its own tokenizer, and their adapters as files."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from personae.chat import Bot
from personae.errors import UserError
from personae.recipe import load_recipe
from personae.runs import Run
from personae.text.tokenizer import SPECIAL_TOKENS, load_tokenizer, train_tokenizer
from personae.training import train
from tests.helpers import batch_of, shake
from tests.models.hosted import alone, described, hosted, known_words, loud
from tests.training.small import SMALL, digest, logged

LOW_RANK = {"tune": "lora", "lora": {"r": 2}}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder and its tokenizer, as a hub name would give."""
    folder = tmp_path_factory.mktemp("hub") / "base"
    tokenizer = train_tokenizer(["i have a dog named rex .", "what do you do for work ?"], 300)
    tokenizer.save_pretrained(folder)
    fields = described("llama", vocab_size=len(tokenizer) - len(SPECIAL_TOKENS), max_position_embeddings=512)
    torch.manual_seed(0)
    shake(LlamaForCausalLM(LlamaConfig(**fields, tie_word_embeddings=True))).save_pretrained(folder)
    return folder


def recipe(base: Path, *overrides: str) -> Any:
    options = f"{{base: '{base}', tune: lora, lora: {{r: 2}}, encoder_kind: base}}"
    kept = [each for each in SMALL if not each.startswith("model.options")]
    mine = (f"text.tokenizer={base}", "model.name=hosted", f"model.options={options}", "decoding.max_tokens=6")
    return load_recipe("interview/paa", [*kept, *mine, "train.lr=1e-2", *overrides])


def test_a_run_trains_its_adapter_and_replies_without_its_base(base: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    shutil.copytree(base, hub)
    report = train(recipe(hub, "train.steps=2", "train.evaluate_every=2"), tmp_path / "run")
    assert report["steps"] == 2
    assert report["vocabulary"] == len(load_tokenizer(tmp_path / "run" / "model"))
    before = load_file(hub / "model.safetensors")
    shutil.rmtree(hub)
    model = Run(tmp_path / "run").model()
    for key, value in before.items():
        module, _, weight = f"base.{key}".rpartition(".")
        part = model.get_submodule(module)
        assert torch.equal(getattr(getattr(part, "base_layer", part), weight), value), key
    assert model.added["0"].out.weight.abs().sum() > 0
    assert model.words.first == model.config.vocab_size - len(SPECIAL_TOKENS) == model.config.text.vocab_size
    assert model.base.model.layers[0].self_attn.q_proj.lora_B["default"].weight.abs().sum() > 0
    for precision in ("fp32", "bf16"):
        bot = Bot.load(tmp_path / "run", ["i have a dog named rex ."], precision=precision)
        explained = bot.explain("what do you do for work ?")
        assert explained.words
        assert all(set(word.shares) == {"persona", "context"} for word in explained.words)


def test_a_run_goes_on_as_if_never_stopped(base: Path, tmp_path: Path) -> None:
    whole = train(recipe(base, "train.steps=4", "train.save_every=2"), tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    shutil.rmtree(tmp_path / "again" / "checkpoints" / "checkpoint-4")
    again = train(recipe(base, "train.steps=4", "train.save_every=2"), tmp_path / "again", resume=True)
    assert logged(again, after=2) == logged(whole, after=2)
    files = [tmp_path / name / "checkpoints" / "checkpoint-4" / "model.safetensors" for name in ("whole", "again")]
    assert digest(files[0]) == digest(files[1])


def test_a_random_base_trains_from_nothing(tmp_path: Path) -> None:
    fields = {**described("qwen2", max_position_embeddings=256)}
    del fields["vocab_size"]
    options = f"model.options={json.dumps({'base_config': fields, 'tune': 'all'})}"
    kept = [each for each in SMALL if not each.startswith("model.options")]
    train(load_recipe("interview/paa", [*kept, "model.name=hosted", options, "train.steps=2"]), tmp_path / "run")
    model = Run(tmp_path / "run").model()
    assert model.words is None
    assert model.config.text.vocab_size == model.config.vocab_size == 400


def exported(folder: Path, **options: Any) -> Any:
    """A model with an adapter that matters, and the adapter in ``folder``."""
    model = loud(hosted(**{**LOW_RANK, **options}))
    model.export_adapter(folder)
    return model


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_an_adapter_is_all_that_was_learned(family: str, tmp_path: Path) -> None:
    hosted(family).base.save_pretrained(tmp_path / "base")
    model = loud_additions(hosted(base=str(tmp_path / "base"), **LOW_RANK))
    model.export_adapter(tmp_path / "adapter")
    names = {path.name for path in (tmp_path / "adapter").iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "sources.safetensors"} <= names
    assert str(tmp_path) not in (tmp_path / "adapter" / "adapter_config.json").read_text()
    other = hosted(base=str(tmp_path / "base"), **LOW_RANK)
    assert other.load_adapter(tmp_path / "adapter").missing == ()
    assert torch.equal(other(**batch_of()).logits, model(**batch_of()).logits)


def loud_additions(model: Any) -> Any:
    """All but the base's own weights changed."""
    kept = {key: value.clone() for key, value in model.state_dict().items() if "base." in key and "lora_" not in key}
    loud(model).load_state_dict(kept, strict=False)
    return model


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # PEFT asks transformers so
def test_peft_reads_an_adapter_by_itself(tmp_path: Path) -> None:
    hosted().base.save_pretrained(tmp_path / "base")
    model = loud_additions(hosted(base=str(tmp_path / "base"), **LOW_RANK))
    model.export_adapter(tmp_path / "adapter")
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    theirs = PeftModel.from_pretrained(plain, tmp_path / "adapter")
    expected = alone(model.base, known_words())
    torch.testing.assert_close(alone(theirs, known_words()), expected)
    (tmp_path / "adapter" / "sources.safetensors").unlink()
    other = hosted(base=str(tmp_path / "base"), **LOW_RANK)
    assert set(other.load_adapter(tmp_path / "adapter").missing) == set(other.beside())
    torch.testing.assert_close(alone(other.base, known_words()), expected)


@pytest.mark.parametrize(
    ("made", "options", "said"),
    [
        ({}, {"family": "qwen2"}, "made for another base: LlamaForCausalLM, not Qwen2ForCausalLM"),
        ({}, {"fields": {"intermediate_size": 24}}, r"made for another base: .* is \(32, 2\) in .* \(24, 2\) here"),
        ({}, {"fields": {"num_hidden_layers": 3}}, "made for another base or other parts: it lacks .*layers.2"),
        ({}, {"lora": {"r": 2, "alpha": 1}}, r"set model\.options\.lora\.alpha=16"),
        ({}, {"lora": {"r": 4}}, r"set model\.options\.lora\.r=2"),
        ({}, {"lora": {"r": 2, "targets": ["q_proj"]}}, "there is no place for"),
        ({}, {"layers": [0]}, r"there is no place for added\.1"),
        ({"fusion": "sum"}, {}, r"it lacks added\.0\.fusion"),
        ({}, {"tune": "none", "lora": None}, "this model has no adapter"),
    ],
)
def test_an_adapter_of_another_model_is_refused(
    made: dict[str, Any], options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    exported(tmp_path, **made)
    model = hosted(**{**LOW_RANK, **options})
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(UserError, match=said):
        model.load_adapter(tmp_path)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_a_folder_without_an_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no adapter in"):
        hosted(**LOW_RANK).load_adapter(tmp_path)
    exported(tmp_path)
    save_file({}, tmp_path / "adapter_model.safetensors")
    with pytest.raises(UserError, match="it lacks"):
        hosted(**LOW_RANK).load_adapter(tmp_path)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"broken")
    with pytest.raises(UserError, match="no adapter in"):
        hosted(**LOW_RANK).load_adapter(tmp_path)
    with pytest.raises(UserError, match="has no adapter"):
        hosted().export_adapter(tmp_path)
