"""Which cells a comparison has, and what is refused before anything is trained."""

import json
from pathlib import Path

import pytest
import yaml

from personae.compare import Cell, make_plan
from personae.errors import UserError
from personae.recipe import shipped
from tests.compare.made import finish, questions, recipe_file, replies


def test_every_recipe_with_every_seed_has_a_folder(tmp_path):
    out, data = tmp_path / "out", questions(tmp_path)
    plan = make_plan(["interview/paa", str(recipe_file(tmp_path, "sum"))], out, seeds=2, data=[data])
    assert [cell.label for cell in plan.cells] == [
        *("interview/paa seed 0", "interview/paa seed 1"),
        *("sum seed 0", "sum seed 1"),
    ]
    assert plan.cells[1].folder == out / "interview" / "paa" / "seed1"
    assert [cell.recipe.train.seed for cell in plan.cells] == [0, 1, 0, 1]
    assert plan.against == "interview/paa"
    assert not any(cell.finished for cell in plan.cells)
    assert not out.exists()


def test_overrides_reach_every_recipe(tmp_path):
    given = ["interview/paa", str(recipe_file(tmp_path, "sum"))]
    plan = make_plan(given, tmp_path / "out", overrides=["train.steps=3"])
    assert [cell.recipe.train.steps for cell in plan.cells] == [3, 3]


def test_the_recipe_to_compare_with_can_be_chosen_by_name_or_file(tmp_path):
    path = str(recipe_file(tmp_path, "sum"))
    for chosen in ("sum", path):
        assert make_plan(["interview/paa", path], tmp_path / "out", against=chosen).against == "sum"


def test_a_generated_corpus_is_scored_on_its_test_splits(tmp_path):
    plan = make_plan(["interview/paa"], tmp_path / "out", limit=7)
    assert [data.name for data in plan.sets] == ["unseen_combinations-first-7", "unseen_values-first-7"]
    assert plan.sets[0].files(tmp_path) == [tmp_path / "data" / "unseen_combinations.jsonl"]
    few = ["data.generate={corpus: interview, sizes: {train: 9, valid: 2, unseen_values: 0}}"]
    assert [data.name for data in make_plan(["interview/paa"], tmp_path, overrides=few).sets] == ["valid"]


def test_recipes_with_files_are_scored_on_their_validation_files(tmp_path):
    data = questions(tmp_path)
    options = [f"data.train=[{data}]", f"data.valid=[{data}]", "data.generate=null"]
    (chosen,) = make_plan(["interview/paa"], tmp_path / "out", overrides=options).sets
    assert (chosen.name, chosen.files(tmp_path)) == ("valid", [data])
    assert len(chosen.sha256) == 64


def test_a_cell_travels_to_another_process(tmp_path):
    data = questions(tmp_path)
    (cell,) = make_plan(["interview/paa"], tmp_path / "out", data=[data], limit=3, reader="jsonl").cells
    there = Cell.from_json(cell.as_json())
    assert (there.label, there.folder, there.sets, there.recipe) == (cell.label, cell.folder, cell.sets, cell.recipe)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"overrides": ["train.seed=3"]}, "give --seeds N"),
        ({"overrides": ["train.sed=3"]}, "Did you mean 'train.seed'"),
        ({"seeds": 0}, "at least 1 seed"),
        ({"limit": 0}, "at least 1 example"),
        ({"against": "interview/pa"}, "Did you mean 'interview/paa'"),
        ({"reader": "jsonl"}, "give --data FILE too"),
        ({"data": ["none.jsonl"]}, "no such file"),
    ],
)
def test_what_can_be_known_to_be_wrong_is_said_first(tmp_path, options, line):
    chosen = {**options, "data": [Path(name) for name in options.get("data", ())]}
    with pytest.raises(UserError, match=line):
        make_plan(["interview/paa"], tmp_path / "out", **chosen)


def test_recipes_that_cannot_be_told_apart(tmp_path):
    with pytest.raises(UserError, match="two recipes are called 'interview/paa'"):
        make_plan(["interview/paa", "interview/paa"], tmp_path)
    with pytest.raises(UserError, match="Did you mean 'interview/paa'"):
        make_plan(["interview/pa"], tmp_path)
    with pytest.raises(UserError, match="name two recipes"):
        make_plan([], tmp_path)


def test_data_sets_that_cannot_be_told_apart(tmp_path):
    (tmp_path / "other").mkdir()
    files = [questions(tmp_path), questions(tmp_path / "other")]
    with pytest.raises(UserError, match="two files of --data are called 'asked'"):
        make_plan(["interview/paa"], tmp_path / "out", data=files)


def test_recipes_with_other_validation_data_need_data(tmp_path):
    values = yaml.safe_load(shipped()["interview/paa"].read_text(encoding="utf-8"))
    values["data"]["generate"]["seed"] = 5
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(values))
    recipes = ["interview/paa", str(tmp_path / "other.yaml")]
    with pytest.raises(UserError, match="other and interview/paa name different data to score on: give --data FILE"):
        make_plan(recipes, tmp_path / "out")
    assert make_plan(recipes, tmp_path / "out", data=[questions(tmp_path)]).sets


def test_a_share_held_out_by_seed_is_nothing_to_compare_on(tmp_path):
    data = questions(tmp_path)
    options = [f"data.train=[{data}]", "data.holdout=0.3", "data.generate=null"]
    with pytest.raises(UserError, match="other conversations for each seed: give --data FILE"):
        make_plan(["interview/paa"], tmp_path / "out", overrides=options)


def test_a_folder_with_runs_of_another_recipe_is_left_alone(tmp_path):
    data = questions(tmp_path)
    (cell,) = make_plan(["interview/paa"], tmp_path / "out", data=[data]).cells
    finish(cell, replies(data, [True] * 6))
    assert cell.finished
    with pytest.raises(UserError, match=r"another train\.steps: choose another --out"):
        make_plan(["interview/paa"], tmp_path / "out", data=[data], overrides=["train.steps=3"])


def test_scores_on_data_that_changed_are_left_alone(tmp_path):
    data = questions(tmp_path)
    (cell,) = make_plan(["interview/paa"], tmp_path / "out", data=[data]).cells
    finish(cell, replies(data, [True] * 6))
    kept = json.loads(cell.scores_file(cell.sets[0]).read_text())
    questions(tmp_path, conversations=4)
    with pytest.raises(UserError, match="was made on another asked: rename the file"):
        make_plan(["interview/paa"], tmp_path / "out", data=[data])
    assert json.loads(cell.scores_file(cell.sets[0]).read_text()) == kept


def test_fractions_are_a_dimension_of_the_grid(tmp_path):
    out, data = tmp_path / "out", questions(tmp_path)
    plan = make_plan(["interview/paa"], out, seeds=2, data=[data], fractions=[0.1, 1.0])
    assert [cell.label for cell in plan.cells] == [
        *("interview/paa at 0.1 seed 0", "interview/paa at 0.1 seed 1"),
        *("interview/paa seed 0", "interview/paa seed 1"),
    ]
    assert [cell.recipe.data.fraction for cell in plan.cells] == [0.1, 0.1, 1.0, 1.0]
    assert plan.cells[1].folder == out / "interview" / "paa" / "random-0.1" / "seed1"
    assert plan.rows == {"interview/paa at 0.1": ("interview/paa", 0.1), "interview/paa": ("interview/paa", 1.0)}
    there = Cell.from_json(plan.cells[0].as_json())
    assert (there.row, there.recipe) == (plan.cells[0].row, plan.cells[0].recipe)


def test_all_of_the_data_lies_where_it_does_without_fractions(tmp_path):
    data = questions(tmp_path)
    (before,) = make_plan(["interview/paa"], tmp_path / "out", data=[data]).cells
    finish(before, replies(data, [True] * 6))
    for sample in ("random", "longest-contexts"):
        some, whole = make_plan(
            ["interview/paa"], tmp_path / "out", data=[data], fractions=[0.5, 1.0], sample=sample
        ).cells
        assert (whole.folder, whole.recipe, whole.finished) == (before.folder, before.recipe, True)
        assert some.recipe.data.sample == sample
        assert some.folder.parent.name == f"{sample}-0.5"


def test_runs_from_before_there_were_fractions_are_still_the_same(tmp_path):
    data = questions(tmp_path)
    (cell,) = make_plan(["interview/paa"], tmp_path / "out", data=[data]).cells
    finish(cell, replies(data, [True] * 6))
    values = yaml.safe_load(cell.run.recipe_file.read_text())
    del values["data"]["fraction"], values["data"]["sample"]
    cell.run.recipe_file.write_text(yaml.safe_dump(values))
    assert make_plan(["interview/paa"], tmp_path / "out", data=[data], fractions=[1.0]).cells[0].finished


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"fractions": [0.0]}, "--fractions 0: give shares above 0"),
        ({"fractions": [20.0]}, "--fractions 20: give shares above 0, 1 for all"),
        ({"fractions": [float("nan")]}, "--fractions nan: give shares"),
        ({"fractions": [0.2, 0.2]}, "--fractions names 0.2 twice"),
        ({"fractions": [0.2], "sample": "longest"}, "Did you mean 'longest-contexts'.*Choose one of: longest-.*random"),
        ({"sample": "longest-contexts"}, "give --fractions below 1 too"),
        ({"fractions": [0.2], "overrides": ["data.conversations=5"]}, "leave that out, or --fractions"),
        ({"fractions": [0.2], "overrides": ["data.fraction=0.5"]}, "interview/paa says itself which part"),
    ],
)
def test_fractions_that_cannot_be_meant(tmp_path, options, line):
    with pytest.raises(UserError, match=line):
        make_plan(["interview/paa"], tmp_path / "out", **options)
