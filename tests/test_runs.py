"""A run's folder: what is missing, foreign or broken in it is said in one line."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from personae.errors import UserError
from personae.runs import Run, write_json
from tests.helpers import tiny_model


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Run:
    """A copy of a finished run, without its checkpoints."""
    return Run(shutil.copytree(tiny_run, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints", "data")))


def complaint(action) -> str:
    with pytest.raises(UserError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_finished_run_gives_its_parts(run):
    model = run.model()
    assert not model.training
    assert model.config.vocab_size == len(run.tokenizer())
    assert run.packer(run.tokenizer()).sources == tuple(run.recipe().model.sources)


@pytest.mark.parametrize("part", ["recipe", "model", "tokenizer"])
def test_a_folder_that_is_no_run(part, tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        assert "is no run (no recipe.yaml): train one" in complaint(getattr(Run(folder), part))


@pytest.mark.parametrize(("name", "part"), [("model.safetensors", "model"), ("tokenizer.json", "tokenizer")])
def test_a_run_without_a_finished_model(name, part, run):
    (run.model_folder / name).unlink()
    assert f"{name} is missing: the run has no finished model; continue it with --resume" in complaint(
        getattr(run, part)
    )


@pytest.mark.parametrize("kept", [0, 5, 100, -8])
def test_half_written_weights(kept, run):
    weights = run.model_folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    assert "is damaged or half-written" in complaint(run.model)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_configuration(content, run):
    (run.model_folder / "config.json").write_text(content)
    assert str(run.model_folder) in complaint(run.model)


def test_a_missing_configuration(run):
    (run.model_folder / "config.json").unlink()
    assert str(run.model_folder) in complaint(run.model)


@pytest.mark.parametrize("variant", ["bridge", "share_attention"])
def test_the_weights_of_another_model(variant, run, tmp_path):
    tiny_model(variant=variant).save_pretrained(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", run.model_folder)
    assert "is the checkpoint of another model" in complaint(run.model)


@pytest.mark.parametrize("change", ["less", "more"])
def test_weights_with_other_keys(change, run):
    file = run.model_folder / "model.safetensors"
    weights = load_file(file)
    if change == "less":
        del weights["decoder.ln_f.weight"]
    else:
        weights["extra.weight"] = torch.zeros(2)
    save_file(weights, file, {"format": "pt"})
    name = "decoder.ln_f.weight" if change == "less" else "extra.weight"
    assert f"another model: 1 keys do not fit, first {name}" in complaint(run.model)


def test_a_model_of_another_kind(run):
    config = {"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2}
    (run.model_folder / "config.json").write_text(json.dumps(config))
    assert "holds a 'gpt2' model" in complaint(run.model)


def test_saving_replaces_the_model(run):
    model, tokenizer = tiny_model(), run.tokenizer()
    run.save_model(model, tokenizer)
    assert run.model().num_parameters() == model.num_parameters()
    assert run.tokenizer().get_vocab() == tokenizer.get_vocab()
    assert not (run.folder / "model.new").exists()
    assert not (run.folder / "model.old").exists()


def test_a_crash_between_the_renames_loses_no_model(run):
    before = (run.model_folder / "model.safetensors").read_bytes()
    run.model_folder.rename(run.folder / "model.old")
    assert run.model().num_parameters() > 0
    assert (run.model_folder / "model.safetensors").read_bytes() == before


def test_a_save_that_fails_after_such_a_crash_loses_no_model(run, monkeypatch):
    model, tokenizer = tiny_model(), run.tokenizer()
    run.model_folder.rename(run.folder / "model.old")

    def fail(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(type(model), "save_pretrained", fail)
    assert "the last one is kept" in complaint(lambda: run.save_model(model, tokenizer))
    monkeypatch.undo()
    assert run.model().num_parameters() > 0


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = write_json(tmp_path / "deep" / "a.json", {"é": 1})
    assert json.loads(path.read_text(encoding="utf-8")) == {"é": 1}
    with pytest.raises(TypeError):
        write_json(path, {"bad": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == {"é": 1}
    assert [one.name for one in path.parent.iterdir()] == ["a.json"]
