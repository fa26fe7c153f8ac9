"""`personae demo`: one command from nothing to a conversation; here on a recipe of two steps."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from personae.cli import app, demo
from personae.recipe import load_recipe
from tests.conftest import TINY


@pytest.fixture
def tiny_demo(tmp_path, monkeypatch):
    """The demo with the tiny recipe; returns how to run it and its folder."""
    recipe = tmp_path / "tiny.yaml"
    recipe.write_text(yaml.safe_dump(load_recipe("interview/paa", TINY).as_dict()))
    monkeypatch.setattr(demo, "RECIPE", str(recipe))
    folder = tmp_path / "demo"
    return lambda: CliRunner().invoke(app, ["demo", "--out", str(folder)]), folder


def test_it_trains_scores_and_talks(tiny_demo):
    run, folder = tiny_demo
    result = run()
    assert result.exit_code == 0, result.output
    scores = json.loads((folder / "scores.json").read_text())
    for split in ("unseen_combinations", "unseen_values"):
        assert f"{scores['persona_accuracy'][split]:.3f}" in result.stdout
        assert 0 <= scores["floors"]["copy_persona"][split] <= 1
        assert "n:" in scores["signatures"]["persona_accuracy"][split]
    assert result.stdout.count("do you remember what i am afraid of ?") == len(demo.PERSONAE)
    assert "personae chat" in result.stdout


def test_a_second_time_it_does_not_train_again(tiny_demo):
    run, folder = tiny_demo
    run()
    weights = (folder / "model" / "model.safetensors").stat().st_mtime_ns
    again = run()
    assert again.exit_code == 0, again.output
    assert "trained already" in again.stdout
    assert (folder / "model" / "model.safetensors").stat().st_mtime_ns == weights


def test_its_personae_speak_as_the_corpus_does():
    """Every sentence is one that training could show, and no value is one that it never shows."""
    from personae.data.interview import FAMILIES

    for sentences in demo.PERSONAE.values():
        known = {said for family in FAMILIES for said in sayings(family)}
        assert set(sentences) <= known


def sayings(family):
    from itertools import product

    from personae.data.interview.family import Fact

    for values in product(*family.common):
        yield from (Fact(family, values).say(template) for template in family.sentences)
