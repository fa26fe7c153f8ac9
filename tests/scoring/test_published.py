"""Published numbers: every file is what the loader and a reader expect of it."""

import json
from importlib import resources
from pathlib import Path

import pytest

from personae.errors import UserError
from personae.metrics import Metric
from personae.scoring.published import every_table, published, published_datasets

FOLDER = Path(str(resources.files("personae"))) / "published"
FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_keeps_the_schema(path):
    content = json.loads(path.read_text())
    assert content.keys() == {"paper", "metrics", "tables"}
    assert isinstance(content["paper"], str)
    used = set()
    for table in content["tables"]:
        assert table.keys() - {"metrics"} == {"table", "dataset", "rows"}
        assert table["rows"]
        for row in table["rows"]:
            assert row.keys() == {"row", "values"}
            assert all(type(value) in (int, float) for value in row["values"].values())
            assert row["values"].keys() <= content["metrics"].keys() | table.get("metrics", {}).keys()
            used |= row["values"].keys()
        assert len({row["row"] for row in table["rows"]}) == len(table["rows"])
    assert content["metrics"].keys() <= used


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_metric_has_ours_or_a_sentence(path):
    content = json.loads(path.read_text())
    named = [content["metrics"], *(table.get("metrics", {}) for table in content["tables"])]
    for name, meaning in [pair for each in named for pair in each.items()]:
        assert meaning.keys() == {"ours", "differs"}
        assert (meaning["ours"] is None) != (meaning["differs"] is None), name
        assert meaning["ours"] in {None, *Metric.names()}


def test_the_numbers_are_those_of_the_papers():
    numbers = {
        (table.key, table.table, table.dataset, row, name): value
        for table in every_table()
        for row, values in table.rows.items()
        for name, value in values.items()
    }
    assert numbers["paa", "Table 1", "convai2", "PAA", "PPL"] == 14.03
    assert numbers["paa", "Table 1", "convai2", "Encoder-GPT2", "F1"] == 11.95
    assert numbers["cao", "Table 1", "convai2", "linear", "Dist-2"] == 15.237
    assert numbers["cao", "Table 1", "convai2", "avg", "length"] == 8.932
    assert numbers["dialogved", "Table 2", "personachat", "DialogVED beam 5", "BLEU-2"] == 0.399
    assert numbers["dialogved", "Table 6", "avsd", "DialogVED greedy", "CIDEr"] == 1.356
    assert numbers["adand", "poster", "adand", "AdaND both", "Extrema"] == 51.17
    assert numbers["convai2", "word F1", "convai2", "MoCoRP 2025", "F1"] == 22.89


def test_an_unknown_data_set_lists_the_choices():
    assert published_datasets() == ["adand", "avsd", "convai2", "dailydialog", "personachat"]
    with pytest.raises(UserError, match=r"Did you mean 'convai2'\? Choose one of: adand, avsd"):
        published("convai")


def test_no_file_lies_in_two_places():
    link = Path(__file__).resolve().parents[2] / "results" / "published"
    assert link.resolve() == FOLDER.resolve()
