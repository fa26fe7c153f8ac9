import re

import pytest
import yaml

from personae.errors import UserError
from personae.fusion import Fusion
from personae.models import DialogueModel
from personae.recipe import Recipe, load_recipe, make_recipe, read_recipe, shipped
from personae.text.pack import REPLY, parts_of

SHIPPED = shipped()
each_recipe = pytest.mark.parametrize("name", SHIPPED)


def test_the_package_ships_recipes():
    assert "interview/paa" in SHIPPED


@each_recipe
def test_its_first_line_is_its_launch_command(name):
    first = SHIPPED[name].read_text(encoding="utf-8").splitlines()[0]
    assert f"{first} ".startswith(f"# personae train {name} ")


@each_recipe
def test_it_loads_and_names_what_exists(name):
    recipe = load_recipe(name)
    assert recipe.model.name in DialogueModel.names()
    if recipe.model.sources:
        assert recipe.model.fusion["name"] in Fusion.names()
    parts = {part for name in (*recipe.model.sources, *recipe.model.prompt) for part in parts_of(name)}
    assert set(recipe.text.budgets) == {*parts, REPLY}
    assert recipe.data.generate is not None or recipe.data.train or "data" in SHIPPED[name].read_text(encoding="utf-8")


@each_recipe
def test_it_is_written_and_read_as_it_is(name, tmp_path):
    recipe = load_recipe(name)
    recipe.write(tmp_path / "recipe.yaml")
    assert read_recipe(tmp_path / "recipe.yaml") == recipe


def test_a_recipe_may_be_a_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("train: {lr: 1e-3}\ntext: {vocabulary: 500}\n")
    recipe = load_recipe(path)
    assert recipe.train.lr == 0.001
    assert recipe.text.vocabulary == 500
    assert recipe.train.batch == Recipe().train.batch


def test_an_empty_file_is_every_default(tmp_path):
    path = tmp_path / "empty.yaml"
    path.write_text("")
    assert load_recipe(path) == Recipe()


def test_the_fusion_is_named_by_the_recipe_or_not_at_all():
    assert Recipe().model.fusion == {}
    assert make_recipe({"model": {"fusion": {"name": "x", "tau": 0.5}}}).model.fusion == {"name": "x", "tau": 0.5}


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("train.lr=1e-5", 1e-5),
        ("train.lr=3", 3.0),
        ("train.steps=7", 7),
        ("train.steps=null", None),
        ("train.buckets=false", False),
        ("train.schedule=cosine", "cosine"),
        ("model.sources=[context]", ["context"]),
        ("model.fusion.tau=0.5", {"name": "paa", "tau": 0.5}),
        ("text.budgets.reply=12", 12),
        ("data.train=[a.txt, b.txt]", ["a.txt", "b.txt"]),
        ("text.tokenizer=path/with=sign", "path/with=sign"),
        ("decoding.beams=3", 3),
    ],
)
def test_overrides(override, value):
    recipe = load_recipe("interview/paa", [override]).as_dict()
    found = recipe
    for key in override.split("=")[0].split("."):
        found = found if key == "tau" else found[key]
    assert found == value
    assert type(found) is type(value)


def test_later_overrides_win():
    assert load_recipe("interview/paa", ["train.lr=1", "train.lr=2"]).train.lr == 2


def complaint(*overrides, name="interview/paa"):
    with pytest.raises(UserError) as caught:
        load_recipe(name, overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.lrr=1", "unknown recipe key 'train.lrr'. Did you mean 'train.lr'?"),
        ("trian.lr=1", "unknown recipe key 'trian'. Did you mean 'train'?"),
        ("lr=1", "Did you mean 'train.lr'?"),
        ("decoding.beam=3", "Did you mean 'decoding.beams'?"),
        ("model.fusions.name=sum", "Did you mean 'model.fusion'?"),
        ("train.lr.x=1", "'train.lr.x'"),
        ("train=3", "'train' is a section"),
        ("train.lr", "is not an override: write key=value"),
        ("=3", "is not an override"),
        ("train.steps=many", "train.steps"),
        ("train.steps=1.5", "train.steps"),
        ("train.buckets=perhaps", "train.buckets"),
        ("train.lr=fast", "train.lr"),
        ("train.lr=nan", "train.lr"),
        ("train.lr=[", "override '[' is not readable YAML"),
        ("model.sources=3", "model.sources"),
        ("model.sources={a: 1}", "model.sources"),
        ("model.fusion=sum", "model.fusion"),
        ("text.budgets=[1]", "text.budgets"),
        ("text.budgets.reply=long", "reply"),
        ("train.precision=fp8", "train.precision='fp8'.* bf16"),
        ("text.long_replies=cut", "text.long_replies='cut'"),
        ("data.on_error=ignore", "data.on_error='ignore'"),
        ("train.batch=0", "train.batch=0 should be above 0"),
        ("train.steps=0", "train.steps=0 should be above 0"),
        ("train.minutes=-1", "train.minutes=-1"),
        ("train.clip=-1", "train.clip=-1"),
        ("train.warmup=2", "train.warmup=2"),
        ("train.accumulation=5", "train.accumulation=5"),
        ("decoding.beams=0", "decoding"),
        ("decoding.top_k=3", "decoding.top_k works only with sampling"),
        ("model.sources=[persona, persona]", "model.sources"),
    ],
)
def test_what_cannot_be_is_the_users_error(override, expected):
    assert re.search(expected if ".*" in expected else re.escape(expected), complaint(override))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["data.fraction=0"], "data.fraction=0.0 should be a share above 0"),
        (["data.fraction=1.5"], "data.fraction=1.5 should be a share above 0, 1 for all"),
        (["data.fraction=0.5", "data.conversations=3"], "both say how much to train on"),
        (["data.sample=longest-contexts"], "give data.fraction below 1 too"),
        (["data.sample=longest", "data.fraction=0.5"], "Choose one of: longest-contexts, random"),
    ],
)
def test_a_part_of_the_data_that_cannot_be_meant(overrides, expected):
    assert expected in complaint(*overrides)


def test_an_unknown_recipe_names_the_nearest_and_all():
    message = complaint(name="interview/pa")
    assert "Did you mean 'interview/paa'?" in message
    assert all(name in message for name in SHIPPED)


@pytest.mark.parametrize("content", ["train: [", "- 1\n- 2\n", "words", "train: words", "train:\n\tlr: 1", "a: 1\n"])
def test_a_file_that_is_no_recipe_is_the_users_error(content, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    assert complaint(name=path)


def test_a_binary_file_is_the_users_error(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"\x80\x81\xff\x00")
    assert str(path) in complaint(name=path)


def test_an_empty_section_is_its_defaults(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("train:\n")
    assert load_recipe(path) == Recipe()


def test_yaml_objects_are_not_made(tmp_path):
    path = tmp_path / "evil.yaml"
    path.write_text("train: !!python/object/apply:os.getcwd []\n")
    assert "YAML" in complaint(name=path)


def test_recipes_are_plain_yaml():
    for path in SHIPPED.values():
        assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


BASE = """
text: {budgets: {persona: 10, reply: 5}}
model: {fusion: {name: paa, tau: 0.5}, options: {pooler: true, encoder: {hidden_size: 8}}}
data: {train: [a.txt, b.txt]}
train: {lr: 0.1, batch: 4}
"""


def extending(folder, text):
    """A recipe that says ``text`` over ``BASE``."""
    written(folder, "base.yaml", BASE)
    return load_recipe(written(folder, "mine.yaml", f"extends: base.yaml\n{text}"))


def test_a_recipe_extends_a_shipped_one_and_says_only_what_differs(tmp_path):
    path = written(tmp_path, "mine.yaml", "extends: interview/paa\ntrain: {lr: 0.5}\n")
    expected = load_recipe("interview/paa", ["train.lr=0.5"])
    assert load_recipe(path) == expected
    load_recipe(path).write(tmp_path / "resolved.yaml")
    assert read_recipe(tmp_path / "resolved.yaml") == expected
    assert "extends" not in (tmp_path / "resolved.yaml").read_text()


def test_a_path_is_relative_to_the_file_and_chains_go_on(tmp_path):
    written(tmp_path, "below/base.yaml", BASE)
    written(tmp_path, "below/middle.yaml", "extends: base.yaml\ntrain: {batch: 8}\n")
    recipe = load_recipe(written(tmp_path, "mine.yaml", "extends: below/middle.yaml\ntrain: {epochs: 2}\n"))
    assert (recipe.train.lr, recipe.train.batch, recipe.train.epochs) == (0.1, 8, 2)


def test_mappings_are_merged_and_lists_replaced(tmp_path):
    recipe = extending(
        tmp_path,
        "text: {budgets: {persona: 20}}\ndata: {train: [c.txt]}\nmodel: {options: {encoder: {layers: 1}}}\n",
    )
    assert recipe.text.budgets == {"persona": 20, "reply": 5}
    assert recipe.data.train == ["c.txt"]
    assert recipe.model.options == {"pooler": True, "encoder": {"hidden_size": 8, "layers": 1}}


@pytest.mark.parametrize(
    ("fusion", "expected"),
    [
        ("{tau: 0.25}", {"name": "paa", "tau": 0.25}),
        ("{name: paa}", {"name": "paa", "tau": 0.5}),
        ("{name: sum}", {"name": "sum"}),
        ("{name: routing, alpha: 0.1}", {"name": "routing", "alpha": 0.1}),
        ("{}", {}),
        ("null", {}),
    ],
)
def test_another_fusion_leaves_the_old_options_behind(fusion, expected, tmp_path):
    assert extending(tmp_path, f"model: {{fusion: {fusion}}}\n").model.fusion == expected


def test_another_model_leaves_the_old_options_behind(tmp_path):
    recipe = extending(tmp_path, "model: {name: seq2seq, options: {depth: 4}}\n")
    assert recipe.model.options == {"depth": 4}
    assert recipe.model.fusion == {"name": "paa", "tau": 0.5}
    assert extending(tmp_path, "model: {name: fused}\n").model.options["pooler"] is True


def test_an_empty_mapping_clears_and_a_sections_head_says_nothing(tmp_path):
    recipe = extending(tmp_path, "model: {options: {encoder: {}}}\ntext: {budgets: null}\ntrain:\n")
    assert recipe.model.options == {"pooler": True, "encoder": {}}
    assert recipe.text.budgets == {}
    assert recipe.train.lr == 0.1
    assert extending(tmp_path, "train: {}\n").train == Recipe().train


@pytest.mark.parametrize(
    ("overrides", "fusion"),
    [
        (["model.fusion.name=sum"], {"name": "sum"}),
        (["model.fusion.name=paa"], {"name": "paa", "tau": "context"}),
        (["model.fusion.alpha=0.1", "model.fusion.name=routing"], {"name": "routing", "alpha": 0.1}),
        (["model.fusion.name=sum", "model.fusion.name=paa"], {"name": "paa", "tau": "context"}),
        (["model.fusion={}"], {}),
        (["model.fusion=null"], {}),
    ],
)
def test_an_override_of_the_fusions_name_drops_its_old_options(overrides, fusion):
    assert load_recipe("interview/paa", overrides).model.fusion == fusion


def test_an_override_of_the_models_name_drops_its_old_options_and_no_given_ones():
    recipe = load_recipe("interview/paa", ["model.options.depth=4", "model.name=seq2seq"])
    assert recipe.model.options == {"depth": 4}


def test_overrides_apply_after_what_is_extended(tmp_path):
    path = written(tmp_path, "mine.yaml", "extends: interview/paa\ntrain: {lr: 0.5}\n")
    assert load_recipe(path, ["train.lr=0.25"]).train.lr == 0.25
    assert complaint("extends=interview/paa").startswith("unknown recipe key 'extends'")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("mine.yaml", "in a circle: {folder}/mine.yaml -> {folder}/mine.yaml"),
        ("other.yaml", "in a circle: {folder}/mine.yaml -> {folder}/other.yaml -> {folder}/mine.yaml"),
        ("interview/pa", "{folder}/mine.yaml: extends: no recipe 'interview/pa'. Did you mean 'interview/paa'?"),
        ("[a, b]", "{folder}/mine.yaml: extends should be a recipe's name or a path"),
    ],
)
def test_what_cannot_be_extended_is_the_users_error(base, expected, tmp_path):
    written(tmp_path, "other.yaml", "extends: mine.yaml\n")
    path = written(tmp_path, "mine.yaml", f"extends: {base}\n")
    assert expected.format(folder=tmp_path) in complaint(name=path)
