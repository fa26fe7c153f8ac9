import re

import pytest
import yaml

from personae.errors import UserError
from personae.fusion import Fusion
from personae.models import DialogueModel
from personae.recipe import Recipe, load_recipe, make_recipe, read_recipe, shipped
from personae.text.pack import REPLY

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
    assert set(recipe.text.budgets) == {*recipe.model.sources, *recipe.model.prompt, REPLY}
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
