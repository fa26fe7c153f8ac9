"""The recipes that the package ships: each names its launch command, has its paper's size, and trains."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch

from personae.models import DialogueModel
from personae.recipe import Recipe, load_recipe, shipped
from personae.training import check_model, train
from tests.helpers import LLAMA, TINY

SHIPPED = shipped()
TWINS = [name for name in SHIPPED if f"{name}-small" in SHIPPED]
BUDGET, POSITIONS = 40, 256

CONVAI2 = """1 your persona: i mend clocks .
2 your persona: i have two owls .
3 what do you do ?\ti mend clocks all day .\t\tno idea .|i mend clocks all day .
4 any pets ?\ttwo owls !\t\tnone .|two owls !
1 your persona: i sell maps .
2 your persona: my boat is red .
3 hello there .\thello , do you sail ?\t\tbye .|hello , do you sail ?
4 no , is it fun ?\ti love it .\t\tnever .|i love it .
"""
AVSD = """a woman waters a fern __eou__ she hums\tis she alone ?\tyes , she is | nobody else is there
a boy folds a map\twhat is he doing ? __eou__ he folds a map . __eou__ and then ?\the leaves | he goes out
a dog sleeps by a door\tis it a big dog ?\tno , a small one | it is small
"""
FORMATS = {None: CONVAI2, "convai2": CONVAI2, "dstc7-avsd": AVSD}
GENERATED = "data.generate.sizes={train: 4, valid: 1, unseen_combinations: 1, unseen_values: 1}"


def small_fused(recipe: Recipe) -> dict[str, object]:
    tiny, kind = TINY["fused"], str(recipe.model.options.get("encoder_kind", "bert"))
    bert = {**tiny["encoder"], "max_position_embeddings": POSITIONS}
    encodes_apart = kind == "bert" and recipe.model.sources
    return {"encoder": bert if encodes_apart else {}, "decoder": {**tiny["decoder"], "n_positions": POSITIONS}}


def small_seq2seq(recipe: Recipe) -> dict[str, object]:
    return {**TINY["seq2seq"], "max_positions": POSITIONS}


def small_hosted(recipe: Recipe) -> dict[str, object]:
    return {"base": None, "base_config": {**LLAMA, "max_position_embeddings": POSITIONS}, "layers": "all"}


def small_adand(recipe: Recipe) -> dict[str, object]:
    """Sizes of what the recipe has; in so few dialogues every word is in many."""
    tiny, given = {**TINY["adand"], "factors": 3}, recipe.model.options
    common = {"topic_most": 1.0} if "topics" in given else {}
    return {key: value for key, value in tiny.items() if key in given} | common | {"max_positions": POSITIONS}


# Options that make a recipe's model small and leave its kind; a model with recipes of its own adds its line here.
SMALL = {"fused": small_fused, "seq2seq": small_seq2seq, "hosted": small_hosted, "adand": small_adand}
# In place of a base whose configuration lies on the hub, one with its layers, width and positions.
OFFLINE = {
    "convai2/llama-paa": (
        "model.options.base=null",
        "model.options.base_config={model_type: llama, hidden_size: 576, intermediate_size: 1536, "
        "num_hidden_layers: 30, num_attention_heads: 9, num_key_value_heads: 3, max_position_embeddings: 8192}",
    )
}


def tiny_overrides(name: str, folder: Path) -> list[str]:
    """What makes the recipe train in a second, on text written here."""
    recipe = load_recipe(name)
    data = folder / "data.txt"
    data.write_text(FORMATS[recipe.data.reader], encoding="utf-8")
    files = [GENERATED] if recipe.data.generate else [f"data.train=[{data}]", f"data.valid=[{data}]"]
    options = [f"model.options.{key}={json.dumps(value)}" for key, value in SMALL[recipe.model.name](recipe).items()]
    budgets = [f"text.budgets.{key}={BUDGET}" for key in recipe.text.budgets]
    return [
        *files,
        *options,
        *budgets,
        "data.holdout=0",
        "text.tokenizer=null",
        "text.vocabulary=300",
        "model.weights=null",
        "train.steps=2",
        "train.batch=4",
        f"train.accumulation={min(recipe.train.accumulation, 2)}",
        "train.precision=fp32",
        "train.start_from=null",
        f"train.candidates={min(recipe.train.candidates, 3)}",
    ]


def parameters(name: str, vocabulary: int, tables: bool = True) -> int:
    """Parameters of the recipe's model as written; without ``tables`` those of the encoders' words do not count."""
    ids = {"vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    chosen = load_recipe(name).model
    with torch.device("meta"):
        model = DialogueModel.get(chosen.name).create(chosen.sources, chosen.fusion, ids, chosen.options)
    left_out = 0 if tables else sum(one.numel() for key, one in model.named_parameters() if "word_embeddings" in key)
    return int(model.num_parameters()) - left_out


@pytest.mark.parametrize("name", SHIPPED)
def test_its_launch_command_can_be_run(name):
    program, command, recipe, *rest = shlex.split(
        SHIPPED[name].read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
    )
    assert (program, command, recipe) == ("personae", "train", name)
    assert rest[0] == "--out"
    load_recipe(name, rest[2:])


@pytest.mark.parametrize("name", SHIPPED)
def test_its_budgets_fit_its_window(name):
    check_model(load_recipe(name, OFFLINE.get(name, ())))


# A model that has not learnt anything may hold all masks closed.
@pytest.mark.filterwarnings("ignore::personae.training.trainer.ClosedSources")
@pytest.mark.parametrize("name", SHIPPED)
def test_it_takes_two_steps(name, tmp_path, monkeypatch):
    monkeypatch.setattr("personae.training.draw_curve", lambda *_: None)
    report = train(load_recipe(name, tiny_overrides(name, tmp_path)), tmp_path / "run")
    assert report["steps"] == 2
    assert report["best"]["eval_loss"] > 0


# Of the published models, with GPT-2's words and eight more. Condition has parts here left out that it never uses:
# the gate and the cross-attentions.
HUANG = {
    "paa": 254_021_376,
    "encoder-gpt2": 182_151_168,
    "gpt2": 124_445_952,
    "gpt2-medium": 354_831_360,
    "gpt2-large": 774_040_320,
    "routing": 254_021_376,
    "sum": 239_856_384,
    "param": 254_021_376,
    "dual": 268_186_368,
    "skipped": 254_021_376,
    "context": 254_021_376,
    "condition-mean": 239_801_088,
    "condition-max": 239_801_088,
}


@pytest.mark.parametrize(("name", "size"), HUANG.items())
def test_sizes_of_huang_et_al(name, size):
    assert parameters(f"convai2/{name}", 50265, tables=False) == size


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("mean", 305.59),
        ("max", 305.59),
        ("min", 305.59),
        ("source-weight", 305.59),
        ("dimension-weight", 305.62),
        ("linear", 326.83),
        ("attention", 312.68),
    ],
)
def test_sizes_of_cao_et_al(name, millions):
    assert round(parameters(f"convai2/cao-{name}", 50266) / 1e6, 2) == millions


def test_sizes_of_the_baselines():
    assert parameters("convai2/mi-gpt", 40478) == 116_534_784  # OpenAI GPT itself: sources add nothing
    assert parameters("convai2/transfertransfo", 50265) == HUANG["gpt2"] + 769
    assert parameters("convai2/transfergpt2", 50265) == HUANG["gpt2"]


def test_sizes_of_cai_et_al():
    """At the paper's size, counted by hand; what the released code never uses is not there."""
    words, attention = 3 * 6_000_000 + 20_000, 300 * 300 + 2 * 300 * 600
    lstm = {wide: 4 * 300 * (wide + 300 + 2) for wide in (300, 600)}
    plain = 2 * (lstm[300] + lstm[600]) + 2 * lstm[300]
    assert parameters("convai2/adand-seq2seq", 20_000) == words + attention + plain
    factored = {wide: 128 * (1200 + wide) + 128 * (1200 + 300) + 2 * 1200 for wide in (300, 600)}
    phi = 512 * (600 + 128 + 2)
    adaptive = 2 * (factored[300] + factored[600]) + 2 * factored[300] + 6 * phi
    context = 6_000_000 + 2 * (lstm[300] + lstm[600])
    assert parameters("convai2/adand-context", 20_000) == words + attention + adaptive + context


def test_training_is_the_papers():
    huang, cao = load_recipe("convai2/dual"), load_recipe("convai2/cao-linear")
    assert (huang.train.lr, huang.train.batch, huang.train.clip, huang.train.epochs) == (8e-6, 32, 0.1, 30)
    assert (cao.train.lr, cao.train.fusion_rate, cao.train.batch, cao.train.clip) == (5e-4, 5, 256, 0)
    assert (cao.train.schedule, cao.train.warmup, cao.train.weight_decay) == ("linear", 0.002, 0.01)
    assert (cao.text.turns, cao.decoding.beams, cao.decoding.length_penalty) == (7, 3, 0.6)
    assert cao.model.options["source_losses"] == {"persona": 0.5, "context": 0.5}
    assert cao.model.options["reply_loss"] == 2


def test_every_row_has_a_twin_but_the_larger_gpt2_and_what_is_no_row():
    full = {name for name in SHIPPED if name.startswith("convai2/") and not name.endswith("-small")}
    assert full - set(TWINS) == {
        *("convai2/gpt2-medium", "convai2/gpt2-large", "convai2/llama-paa"),
        "convai2/adand-published",
    }


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_differs_in_size_only(name):
    full, small = load_recipe(name), load_recipe(f"{name}-small")
    assert re.search("^extends: ", SHIPPED[f"{name}-small"].read_text(encoding="utf-8"), re.M) or name == "convai2/paa"
    for key in ("name", "sources", "prompt", "fusion"):
        assert getattr(full.model, key) == getattr(small.model, key), key
    wiring = ("encoder_kind", "causal_encoder", "block", "share_self_attention", "post_norm", "source_losses")
    wiring += ("parameterisation", "context_cell", "attention", "topics", "topic_model", "training")
    for key in (*wiring, "reply_loss", "candidate_head", "share_attention"):
        assert full.model.options.get(key) == small.model.options.get(key), key
    for key in ("types", "marks", "turns"):
        assert getattr(full.text, key) == getattr(small.text, key), key
    assert small.decoding == full.decoding or small.decoding == load_recipe("convai2/paa-small").decoding
    assert small.model.weights is small.text.tokenizer is None
