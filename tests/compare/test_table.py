"""Tables, pictures and records of comparisons made by hand."""

import json
from statistics import stdev

import pytest

from personae.compare import choose_metrics, make_comparison, make_plan, write_comparison, write_record
from personae.compare.cells import NOISE, UNLIKE, decimals, difference_text, mean_text
from personae.compare.grids import grids
from personae.compare.table import Difference, Mean
from personae.compare.text import footnotes, markdown
from personae.data.load import load
from personae.errors import UserError
from personae.evaluation.predictions import Said, write_predictions
from personae.metrics import Metric
from personae.metrics.floors import Floor
from tests.compare.made import finish, made_plan, questions, replies, write_scores

GOOD, BAD = [True] * 6, [False] * 6
HALF = [True, False] * 3


@pytest.fixture(autouse=True)
def no_bleu(monkeypatch):
    """Its intervals take seconds; test_statistics.py has them."""
    kinds = {name: kind for name, kind in Metric._classes.items() if "bleu" not in name}
    monkeypatch.setattr(Metric, "_classes", kinds)


@pytest.fixture
def data(tmp_path):
    return questions(tmp_path)


@pytest.fixture
def plan(tmp_path, data):
    """PAA half right, SUM always right and cheaper with both seeds."""
    said = {
        "paa": [replies(data, HALF), replies(data, BAD)],
        "sum": [replies(data, GOOD, nats=1.0), replies(data, GOOD, nats=1.5)],
    }
    return made_plan(tmp_path, said, data)


@pytest.fixture
def sheet(plan):
    return make_comparison(plan, {}).sheets["asked"]


def kept(cell, name="asked"):
    return json.loads((cell.folder / "scores" / f"{name}.json").read_text())


def test_means_and_deviations_are_those_of_the_cells(plan, sheet):
    assert {"f1", "dist1", "perplexity_token"} < set(sheet.metrics)
    for name, means in sheet.means.items():
        for metric, mean in means.items():
            values = [kept(cell)["model"][metric]["value"] for cell in plan.cells if cell.name == name]
            assert mean.value == pytest.approx(sum(values) / 2)
            assert mean.deviation == pytest.approx(stdev(values))
            assert mean.seeds == dict(enumerate(values))
    assert sheet.means["paa"]["persona_accuracy"].value == 0.25
    assert sheet.means["sum"]["persona_accuracy"].interval == (1, 1)
    assert sheet.means["paa"]["nats_per_byte"].signature.endswith("|mean:paa,seeds=0+1|v:0.1.0")


def test_one_seed_has_the_interval_of_its_evaluation_and_no_deviation(tmp_path, data):
    plan = made_plan(tmp_path, {"paa": [replies(data, HALF)]}, data)
    means = make_comparison(plan, {}).sheets["asked"].means["paa"]
    for metric, score in kept(plan.cells[0])["model"].items():
        assert means[metric].interval == pytest.approx(tuple(score["interval"]))
        assert means[metric].deviation is None


def test_differences_are_paired_and_signed(sheet):
    found = sheet.differences["sum"]
    assert found["persona_accuracy"].value == 0.75
    assert found["persona_accuracy"].interval == pytest.approx((0.5, 1), abs=0.2)
    assert found["persona_accuracy"].inside_the_noise is False
    assert found["nats_per_byte"].value < 0
    assert "|mean:sum,seeds=0+1|less:paa,seeds=0+1|" in found["f1"].signature
    assert "paa" not in sheet.differences


def test_what_conversations_cannot_decide_is_inside_the_noise(tmp_path, data):
    """One is right where the other is wrong: the difference is 0 on average."""
    other = [not right for right in HALF]
    plan = made_plan(tmp_path, {"paa": [replies(data, HALF)], "sum": [replies(data, other)]}, data)
    comparison = make_comparison(plan, {})
    found = comparison.sheets["asked"].differences["sum"]["persona_accuracy"]
    assert found.value == 0
    assert found.interval[0] < 0 < found.interval[1]
    assert found.inside_the_noise is True
    assert NOISE in difference_text(found)
    assert markdown(comparison, ["persona_accuracy"]).count(f", {NOISE} |") == 1


def test_against_another_recipe(tmp_path, data):
    said = {"paa": [replies(data, HALF)], "sum": [replies(data, GOOD)], "mean": [replies(data, BAD)]}
    plan = made_plan(tmp_path, said, data, against="sum")
    sheet = make_comparison(plan, {}).sheets["asked"]
    gained = {name: found["persona_accuracy"].value for name, found in sheet.differences.items()}
    assert gained == {"paa": -0.5, "mean": -1}


def test_floors_stand_once_in_the_same_table(plan, sheet):
    assert list(sheet.floors) == Floor.names()
    assert sheet.floors["copy_persona"]["f1"].value == kept(plan.cells[0])["floors"]["copy_persona"]["f1"]["value"]
    (means, _, _) = grids(make_comparison(plan, {}), ["f1", "nats_per_byte"])
    assert [row[0] for row in means.rows] == ["paa", "sum", *(name for name in sheet.floors if name != "human")]
    assert means.rows[2][2:] == ("-", "-", "-", "-")
    assert means.rows[0][3:] == ("1,000", "2", "15")


def test_floors_that_differ_with_the_training_data_stand_apart(plan):
    cell = plan.cells[3]
    path = cell.scores_file(plan.sets[0])
    scores = kept(cell)
    scores["floors"]["constant"]["f1"]["value"] = 1.0
    path.write_text(json.dumps(scores))
    floors = make_comparison(plan, {}).sheets["asked"].floors
    assert floors["constant (sum seed 1)"]["f1"].value == 1.0
    assert len(floors) == len(Floor.names()) + 1


def test_per_token_of_two_vocabularies_is_not_compared(tmp_path, data):
    said = {"paa": [replies(data, HALF)], "sum": [replies(data, HALF, tokens=2)]}
    comparison = make_comparison(made_plan(tmp_path, said, data), {})
    found = comparison.sheets["asked"].differences["sum"]
    assert not {"nats_per_token", "perplexity_token"} & found.keys()
    assert {"nats_per_byte", "perplexity_word"} <= found.keys()
    text = markdown(comparison, ["perplexity_token", "nats_per_byte"])
    assert f"| sum | {UNLIKE} | +0" in text
    assert "two vocabularies" in text


def test_scores_of_other_data_are_refused(plan, data, tmp_path):
    write_scores(plan.cells[1], "asked", [data], replies(data, BAD), "1" * 64)
    with pytest.raises(UserError, match="paa seed 1 was scored on other data than paa seed 0: give --data FILE"):
        make_comparison(plan, {})


def test_unfinished_cells_are_left_out_and_named(tmp_path, data):
    said = {"paa": [replies(data, HALF), replies(data, BAD)], "sum": [replies(data, GOOD)]}
    plan = made_plan(tmp_path, said, data)
    comparison = make_comparison(plan, {"sum seed 1": "no space"})
    assert comparison.sheets["asked"].means["sum"]["f1"].seeds.keys() == {0}
    assert comparison.notes == ["sum: without seed 1, which failed"]
    assert "- sum seed 1 failed: no space\n" in markdown(comparison, ["f1"])


def test_without_the_recipe_to_compare_with_there_are_no_differences(tmp_path, data):
    plan = made_plan(tmp_path, {"paa": [], "sum": [replies(data, GOOD)]}, data)
    comparison = make_comparison(plan, {"paa seed 0": "broken"})
    assert comparison.sheets["asked"].differences == {}
    assert comparison.notes == ["no differences: paa has no finished run"]
    assert [grid.title.split(":")[0] for grid in grids(comparison, ["f1"])] == ["asked", "training"]


def test_nothing_finished_is_an_empty_comparison(tmp_path, data):
    comparison = make_comparison(made_plan(tmp_path, {"paa": [], "sum": []}, data), {"paa seed 0": "broken"})
    assert (comparison.trained, comparison.sheets) == ({}, {})


def test_seconds_of_interrupted_runs_are_left_out(tmp_path, data):
    plan = made_plan(tmp_path, {"paa": [replies(data, HALF), replies(data, BAD)]}, data)
    finish(plan.cells[1], replies(data, BAD), steps=3, resumed=True, threads=4)
    comparison = make_comparison(plan, {})
    assert comparison.trained["paa"].seconds == 10.0
    (grid, training) = grids(comparison, ["f1"])
    assert grid.rows[0][-2:] == ("2 to 3", "10")
    assert training.rows[0] == ("paa", "-", "9", "1,000", "2 to 3", "10", "-", "-")
    assert any("1, 4 threads" in note for note in comparison.notes)


def test_other_budgets_are_named(tmp_path, data):
    plan = made_plan(tmp_path, {"paa": [replies(data, HALF)], "sum": [replies(data, BAD)]}, data)
    plan.recipes["sum"].train.steps = 7
    plan.recipes["sum"].data.conversations = 5
    (note,) = make_comparison(plan, {}).notes
    assert note == "not one budget: sum differs from paa in data.conversations, train.steps"


def test_the_files_of_a_comparison(plan):
    comparison = make_comparison(plan, {})
    metrics = choose_metrics(comparison)
    assert metrics == ["nats_per_byte", "f1", "persona_accuracy"]
    written = write_comparison(plan.out, comparison, metrics)
    names = [f"{metric}{end}.{kind}" for metric in metrics for end in ("", "-by-cost") for kind in ("png", "svg")]
    assert [path.name for path in written] == ["table.json", "table.md", "table.tex", "table.csv", *names]
    assert not list(plan.out.glob("*.new"))
    assert (plan.out / "f1.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (plan.out / "f1.svg").read_text()
    table = json.loads((plan.out / "table.json").read_text())
    assert table == json.loads(json.dumps(comparison.as_dict()))
    assert table["data"]["asked"]["differences"]["to"]["sum"]["persona_accuracy"]["inside_the_noise"] is False
    assert "fractions" not in table
    assert table["recipes"]["paa"]["cells"][1]["folder"] == "paa/seed1"
    assert table["recipes"]["paa"]["recipe_sha256"] != table["recipes"]["sum"]["recipe_sha256"]
    assert "seed" not in table["recipes"]["paa"]["recipe"]["train"]
    text = (plan.out / "table.md").read_text()
    assert text == markdown(comparison, metrics)
    assert all(mean.signature in text for mean in (comparison.sheets["asked"].means["sum"]["f1"],))


def test_pictures_of_the_same_numbers_are_the_same(plan):
    comparison = make_comparison(plan, {})
    before = [path.read_bytes() for path in write_comparison(plan.out, comparison, ["f1"])]
    assert [path.read_bytes() for path in write_comparison(plan.out, comparison, ["f1"])] == before


def test_a_metric_that_was_not_measured_is_said_so(plan):
    comparison = make_comparison(plan, {})
    assert "context_accuracy is not measured on asked" in footnotes(comparison, ["context_accuracy"])
    written = write_comparison(plan.out, comparison, ["context_accuracy"])
    assert [path.name for path in written] == ["table.json", "table.md", "table.tex", "table.csv"]
    with pytest.raises(UserError, match="Did you mean 'f1'"):
        choose_metrics(comparison, ["f2"])


def test_a_record_names_no_folder_of_this_machine(tmp_path, data):
    options = [f"data.train=[{data}]", f"text.tokenizer={tmp_path}", "data.generate=null", f"data.valid=[{data}]"]
    plan = make_plan(["interview/paa"], tmp_path / "out", data=[data], overrides=options)
    finish(plan.cells[0], replies(data, HALF))
    write_record(tmp_path / "kept" / "a.json", make_comparison(plan, {"b seed 0": f"no {tmp_path}"}), "A trial.")
    text = (tmp_path / "kept" / "a.json").read_text()
    assert str(tmp_path) not in text
    record = json.loads(text)
    assert (record["about"], record["failed"]) == ("A trial.", ["b seed 0"])
    assert record["recipes"]["interview/paa"]["recipe"]["data"]["train"] == ["asked.jsonl"]
    assert record["recipes"]["interview/paa"]["recipe"]["text"]["tokenizer"] == tmp_path.name
    assert record["data"]["asked"]["data"]["path"] == ["asked.jsonl"]


@pytest.mark.parametrize(
    ("mean", "text"),
    [
        (None, "-"),
        (Mean(22.98123, (22.612, 23.0), "s", {0: 1.0}, 0.12345), "22.98 [22.6, 23.0] ± 0.12"),
        (Mean(0.25, (0.07, 0.5), "s"), "0.2500 [0.070, 0.500]"),
        (Mean(1234.56, None, "s", {}, 30.4), "1,235 ± 30"),
        (Mean(0.5, None, "s", {}, 0.0), "0.5000 ± 0"),
    ],
)
def test_a_mean_as_text(mean, text):
    assert mean_text(mean) == text


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (None, UNLIKE),
        (
            Difference(-0.008, (-0.0125, -0.0035), "s", 0.004, 0.012, -0.447),
            "-0.0080 [-0.0125, -0.0035], p 0.012, d -0.45",
        ),
        (
            Difference(0.8, (0.1, 2.5), "s", 0.02, 0.06, 0.3),
            f"+0.80 [+0.10, +2.50], p 0.060, d +0.30, {NOISE}",
        ),
        (Difference(0.0, (0.0, 0.0), "s", 1.0, 1.0, 0.0), f"+0 [+0, +0], p 1.000, d +0.00, {NOISE}"),
        (Difference(5.0, (4.0, 6.0), "s", 0.0001, 0.0003, None), "+5.00 [+4.00, +6.00], p < 0.001"),
        (Difference(3.0, None, "s"), "+3.00, no interval, no test"),
    ],
)
def test_a_difference_as_text(difference, text):
    assert difference_text(difference) == text


def test_digits():
    assert [decimals(value, 3) for value in (0.0, 0.00123, 0.5, 12.0, 1234.0, float("inf"))] == [0, 5, 3, 1, 0, 0]


def test_statistics_of_an_older_version_are_made_anew_from_the_replies(tmp_path, data):
    """A file whose F1 rests on other sums gives the same table as long as the replies are there."""
    said = {"paa": replies(data, HALF), "sum": replies(data, GOOD)}
    plan = made_plan(tmp_path, {name: [each] for name, each in said.items()}, data)
    before = make_comparison(plan, {}).as_dict()
    cell = plan.cells[0]
    path = cell.scores_file(plan.sets[0])
    scores = kept(cell)
    scores["by_conversation"]["statistics"]["f1"] = [
        [*row, 0.0] for row in scores["by_conversation"]["statistics"]["f1"]
    ]
    path.write_text(json.dumps(scores))
    with pytest.raises(UserError, match=r"was written by another version, and .* is gone: delete the first"):
        make_comparison(plan, {})
    dialogues = load([data]).dialogues
    folder = cell.replies_file(plan.sets[0]).parent
    folder.mkdir(parents=True)
    write_predictions(folder, dialogues, [Said(each.prediction, each.nats, each.tokens) for each in said["paa"]])
    assert make_comparison(plan, {}).as_dict() == before


def test_other_devices_are_named_and_rates_are_means(tmp_path, data):
    plan = made_plan(tmp_path, {"paa": [replies(data, HALF), replies(data, BAD)]}, data)
    for cell, device in zip(plan.cells, ("CPU", "GPU"), strict=True):
        report = json.loads(cell.run.report_file.read_text())
        report |= {"device": device, "tokens_per_second": 1000 * (cell.seed + 1)}
        cell.run.report_file.write_text(json.dumps(report))
    comparison = make_comparison(plan, {})
    assert (comparison.trained["paa"].rate, comparison.trained["paa"].devices) == (1500, ["CPU", "GPU"])
    assert comparison.notes == ["runs had different devices (CPU, GPU): do not compare their seconds"]
