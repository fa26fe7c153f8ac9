"""Labels are mapped by name; what nobody named is an error with its place."""

import json

import pytest

from personae.consistency.labels import order_of, read_names
from personae.consistency.nli import make_source, read_nli
from personae.errors import UserError


def write(path, *records) -> object:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def labels(path, *given: str) -> list[str]:
    return [pair.label for pair in read_nli(path, read_names(given)).pairs]


def test_snli_and_mnli(tmp_path):
    said = ("entailment", "neutral", "contradiction", "-")
    rows = [{"sentence1": "a", "sentence2": "b", "gold_label": label, "pairID": "7"} for label in said]
    path = write(tmp_path / "snli.jsonl", *rows)
    assert labels(path) == ["entails", "neutral", "contradicts"]
    assert read_nli(path, read_names([])).undecided == 1


def test_dialogue_nli_with_its_triples_as_one_list_and_as_lines(tmp_path):
    triples = {"triple1": ["i", "have", "dog"], "triple2": ["i", "have", "cat"], "dtype": "matchingtriple_up"}
    said = ("positive", "neutral", "negative")
    rows = [{"sentence1": "i have a dog .", "sentence2": "b", "label": label, **triples} for label in said]
    (tmp_path / "list.jsonl").write_text(json.dumps(rows), encoding="utf-8")
    assert labels(tmp_path / "list.jsonl") == labels(write(tmp_path / "lines.jsonl", *rows))
    assert labels(tmp_path / "list.jsonl") == ["entails", "neutral", "contradicts"]


def test_numbers_mean_what_the_user_says(tmp_path):
    path = write(tmp_path / "n.jsonl", *({"premise": "a", "hypothesis": "b", "label": at} for at in (2, 0, 1, -1)))
    assert labels(path, "0=entails", "1=neutral", "2=contradicts", "-1=-") == ["contradicts", "entails", "neutral"]
    with pytest.raises(UserError, match=r"n\.jsonl:1: unknown label 2.*--label 0=entails"):
        labels(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"premise": "a", "hypothesis": "b", "label": "entailmnt"}', r"bad\.jsonl:2: unknown label.*'entailment'"),
        ('{"premise": "a", "hypothesis": "b", "label": null}', r"bad\.jsonl:2: unknown label null"),
        ('{"premise": "a", "hypothesis": "b"}', r"bad\.jsonl:2: expected the key 'label'"),
        ('{"premise": "a", "label": "neutral"}', r"bad\.jsonl:2: expected a text in 'hypothesis'"),
        ('{"premise": "a", "hypothesis": " ", "label": "neutral"}', r"bad\.jsonl:2: expected a text in 'hypothesis'"),
        ('{"text": "a", "label": "neutral"}', r"bad\.jsonl:2: expected the keys 'premise'"),
        ("[1, 2]", r"bad\.jsonl:2: expected one JSON object"),
        ("{", r"bad\.jsonl:2: expected one JSON object"),
    ],
)
def test_a_malformed_record_is_named_by_file_and_line(tmp_path, line, said):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"premise": "a", "hypothesis": "b", "label": "neutral"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        labels(path)


def test_a_file_without_an_agreed_label_is_refused(tmp_path):
    with pytest.raises(UserError, match="no labelled pair"):
        labels(write(tmp_path / "none.jsonl", {"premise": "a", "hypothesis": "b", "label": "-"}))


@pytest.mark.parametrize("given", ["entails", "=entails", "0=entailed", "0="])
def test_a_mapping_that_maps_nothing_is_refused(given):
    with pytest.raises(UserError, match="--label"):
        read_names([given])


def test_a_models_outputs_are_our_three_labels():
    names = read_names(["LABEL_0=contradicts", "LABEL_1=neutral", "LABEL_2=entails"])
    assert order_of(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], names, "m") == ("contradicts", "neutral", "entails")
    assert order_of(["LABEL_0", "LABEL_1", "LABEL_2"], names, "m") == ("contradicts", "neutral", "entails")
    with pytest.raises(UserError, match="unknown label 'LABEL_9'"):
        order_of(["LABEL_0", "LABEL_1", "LABEL_9"], names, "m")
    with pytest.raises(UserError, match="tells entailment, neutral apart"):
        order_of(["entailment", "neutral"], names, "m")


def test_premises_are_held_out_whole(tmp_path):
    said = ("entailment", "contradiction")
    rows = [{"premise": f"p{at}", "hypothesis": f"h{each}", "label": each} for at in range(60) for each in said]
    source = make_source(read_nli(write(tmp_path / "many.jsonl", *rows), read_names([])))
    held = {pair.group for pair in source.held_out["many"]}
    assert held
    assert not held & {pair.group for pair in source.train}
    assert len(source.held_out["many"]) == 2 * len(held)
    with pytest.raises(UserError, match="too few"):
        make_source(read_nli(write(tmp_path / "few.jsonl", rows[0]), read_names([])))
