"""Tables, families of tests and pictures of a comparison with fractions of the training data."""

import csv
import json

import pytest

from personae.compare import make_comparison, make_plan, sort_rows, write_comparison
from personae.compare.grids import chosen_columns, fitted, grids
from personae.compare.text import footnotes, markdown
from personae.metrics import Metric
from personae.metrics.paired import holm
from tests.compare.made import finish, questions, recipe_file, replies

# Who answers what share of twelve conversations right.
RIGHT = {("paa", 0.5): 3, ("paa", 1.0): 6, ("sum", 0.5): 4, ("sum", 1.0): 11, ("mean", 0.5): 9, ("mean", 1.0): 5}


@pytest.fixture(autouse=True)
def few_metrics(monkeypatch):
    kept = ("f1", "dist1", "nats_per_byte", "persona_accuracy")
    monkeypatch.setattr(Metric, "_classes", {name: Metric._classes[name] for name in kept})


@pytest.fixture
def plan(tmp_path):
    data = questions(tmp_path, conversations=12)
    recipes = [str(recipe_file(tmp_path, fusion)) for fusion in ("paa", "sum", "mean")]
    plan = make_plan(recipes, tmp_path / "out", data=[data], fractions=[0.5, 1.0])
    for cell in plan.cells:
        count = RIGHT[cell.name, cell.fraction]
        finish(cell, replies(data, [at < count for at in range(12)], nats=2.0 / count))
    return plan


@pytest.fixture
def comparison(plan):
    return make_comparison(plan, {})


def test_every_recipe_at_every_fraction_is_a_row(comparison):
    sheet = comparison.sheets["asked"]
    assert list(sheet.means) == ["paa at 0.5", "paa", "sum at 0.5", "sum", "mean at 0.5", "mean"]
    means, differences, training = grids(comparison, ["persona_accuracy"])
    assert means.columns[:3] == ("", "fraction", "persona_accuracy ↑")
    assert [row[:2] for row in means.rows[:4]] == [("paa", "0.5"), ("paa", "1"), ("sum", "0.5"), ("sum", "1")]
    assert [row[:2] for row in differences.rows] == [("sum", "0.5"), ("sum", "1"), ("mean", "0.5"), ("mean", "1")]
    assert len(training.rows) == 6
    assert "at the same fraction" in differences.title


def test_a_recipe_is_compared_at_its_own_fraction(comparison):
    differences = comparison.sheets["asked"].differences
    assert differences["sum at 0.5"]["persona_accuracy"].value == pytest.approx((4 - 3) / 12)
    assert differences["sum"]["persona_accuracy"].value == pytest.approx((11 - 6) / 12)
    assert "|less:paa@0.5,seeds=0|" in differences["sum at 0.5"]["persona_accuracy"].signature


def test_the_family_is_every_difference_of_a_metric_on_a_data_set(comparison):
    differences = comparison.sheets["asked"].differences
    for metric in ("f1", "dist1", "nats_per_byte", "persona_accuracy"):
        found = [each[metric] for each in differences.values() if each[metric].p is not None]
        assert [each.p_holm for each in found] == holm([each.p for each in found])
        assert all(f"|holm:{len(found)}|" in each.signature for each in found)
    strong = differences["sum"]["persona_accuracy"]
    assert strong.p < 0.08  # 5 of 5 conversations that differ: 2 / 2^5
    assert strong.p_holm == pytest.approx(3 * strong.p)  # of mean at 0.5, 6 of 6 differ: it comes first
    assert strong.inside_the_noise is True
    gaps = [1.0] * 5 + [0.0] * 7
    mean, deviation = 5 / 12, (sum((gap - 5 / 12) ** 2 for gap in gaps) / 11) ** 0.5
    assert strong.effect == pytest.approx(mean / deviation)


def test_notes_say_what_the_fractions_and_tests_are(comparison):
    notes = footnotes(comparison, ["persona_accuracy", "dist1"])
    assert "at 0.5: trained on 0.5 of the conversations, drawn by seed (data.sample=random)" in notes
    (tests,) = [note for note in notes if note.startswith("differences:")]
    assert "Holm-corrected for all differences of the same metric on the same data" in tests
    assert "randomisation-by-conversation-10000-seed-0, jackknife-normal-by-conversation" in tests


def test_the_best_at_each_fraction_is_bold(comparison):
    (means, *_) = grids(comparison, ["persona_accuracy"])
    assert {means.rows[row][:2] for row, _ in means.best} == {("mean", "0.5"), ("sum", "1")}
    assert {column for _, column in means.best} == {2}
    assert "| sum | 1 | **0.9167 [" in markdown(comparison, ["persona_accuracy"])


def test_rows_best_first(comparison):
    sorted_ = sort_rows(comparison, "nats_per_byte").sheets["asked"]
    assert list(sorted_.means) == ["mean at 0.5", "sum at 0.5", "paa at 0.5", "sum", "paa", "mean"]
    assert list(sorted_.differences) == ["mean at 0.5", "sum at 0.5", "sum", "mean"]
    best = sort_rows(comparison, "persona_accuracy").sheets["asked"]
    assert list(best.means)[-3:] == ["sum", "paa", "mean"]


def test_a_metric_that_was_not_measured_sorts_nothing_and_says_so(comparison, monkeypatch):
    monkeypatch.setattr(Metric, "get", lambda _: Metric._classes["f1"])
    same = sort_rows(comparison, "bleu")
    assert list(same.sheets["asked"].means) == list(comparison.sheets["asked"].means)
    assert same.notes[-1] == "asked is in the order given: bleu is not measured on it"


def test_wide_tables_are_parted_and_nothing_is_lost(comparison):
    (means, *_) = grids(comparison, ["nats_per_byte", "f1", "persona_accuracy"])
    parts = list(fitted(means, 100))
    assert len(parts) > 1
    for grid in parts:
        assert (
            sum(max(len(row[at]) for row in [grid.columns, *grid.rows]) + 3 for at in range(len(grid.columns))) <= 100
        )
        assert list(grid.columns[:2]) == ["", "fraction"]
    assert [column for grid in parts for column in grid.columns[2:]] == list(means.columns[2:])
    assert list(fitted(means, 1000)) == [chosen_columns(means, range(len(means.columns)))]
    assert sum(len(grid.best) for grid in parts) == len(means.best)
    assert [grid.columns[2:] for grid in fitted(means, 5)] == [[column] for column in means.columns[2:]]


def test_every_number_is_in_the_csv(comparison, plan):
    write_comparison(plan.out, comparison, ["f1"])
    with (plan.out / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = json.loads((plan.out / "table.json").read_text())
    assert table["fractions"] == [0.5, 1.0]
    recipes = [row for row in rows if row["kind"] == "recipe"]
    assert len(recipes) == 6 * 4
    (row,) = [each for each in recipes if (each["recipe"], each["fraction"], each["metric"]) == ("sum", "0.5", "f1")]
    mean, gained = (table["data"]["asked"][key] for key in ("means", "differences"))
    assert float(row["value"]) == mean["sum at 0.5"]["f1"]["value"]
    assert float(row["p_holm"]) == gained["to"]["sum at 0.5"]["f1"]["p_holm"]
    assert float(row["effect_d_z"]) == gained["to"]["sum at 0.5"]["f1"]["effect"]
    assert (row["sample"], row["better"], row["seeds"], row["parameters"]) == ("random", "higher", "1", "1000")
    assert {each["recipe"] for each in rows if each["kind"] == "floor"} == set(comparison.sheets["asked"].floors)


def test_pictures_of_fractions(comparison, plan):
    names = [path.name for path in write_comparison(plan.out, comparison, ["f1"])]
    assert {"f1.png", "f1-by-cost.svg", "f1-by-fraction.png", "f1-by-fraction.svg"} < set(names)
    picture = (plan.out / "f1-by-fraction.svg").read_text()
    assert "fraction of the training data (random)" in picture


def test_a_recipe_without_runs_at_a_fraction_is_not_compared_there(tmp_path):
    data = questions(tmp_path, conversations=12)
    recipes = [str(recipe_file(tmp_path, fusion)) for fusion in ("paa", "sum")]
    plan = make_plan(recipes, tmp_path / "out", data=[data], fractions=[0.5, 1.0])
    for cell in plan.cells[1:]:
        finish(cell, replies(data, [True] * 12))
    comparison = make_comparison(plan, {"paa at 0.5 seed 0": "broken"})
    assert list(comparison.sheets["asked"].differences) == ["sum"]
    assert "no differences: paa at 0.5 has no finished run" in comparison.notes
