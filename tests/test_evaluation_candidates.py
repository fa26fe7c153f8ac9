"""Candidates in an evaluation: ranked when asked, and never seen while the model answers."""

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from personae.cli import app
from personae.data.load import load
from personae.errors import UserError
from personae.evaluation import evaluate, read_predictions
from personae.evaluation.speaker import Speaker
from personae.metrics import Metric
from personae.ranking.model import Likelihood
from personae.recipe import load_recipe
from personae.runs import Run
from personae.training import train
from tests.conftest import TINY

HITS = ("hits1", "hits5", "hits10", "mrr")
FLOORS = {"chance", "tfidf", "tfidf:persona", "tfidf:last"}


@pytest.fixture(scope="module")
def data(tiny_run, tmp_path_factory) -> Path:
    """Fifteen examples with six candidates each, the gold reply at a place that chance decides."""
    lines = (tiny_run / "data" / "unseen_combinations.jsonl").read_text().splitlines()[:2]
    records = [json.loads(line) for line in lines]
    texts = [turn["text"] for record in records for turn in record["turns"]]
    draw = random.Random(0)
    for turn in (turn for record in records for turn in record["turns"] if turn["role"] == "self"):
        others = draw.sample([text for text in texts if text != turn["text"]], 5)
        turn["candidates"] = draw.sample([*others, turn["text"]], 6)
    path = tmp_path_factory.mktemp("candidates") / "ranked.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def bare(data, tmp_path_factory) -> Path:
    """The same without candidates."""
    records = [json.loads(line) for line in data.read_text().splitlines()]
    for turn in (turn for record in records for turn in record["turns"]):
        turn.pop("candidates", None)
    path = tmp_path_factory.mktemp("candidates") / "bare.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def headed(tmp_path_factory) -> Path:
    """A run of a model with a candidate head."""
    folder = tmp_path_factory.mktemp("runs") / "headed"
    head = ("model.options.candidate_head=binary", "train.candidates=3")
    train(load_recipe("interview/paa", [*TINY, *head]), folder)
    return folder


@pytest.fixture(scope="module")
def ranked(tiny_run, data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("evaluation") / "ranked"
    evaluate(Run(tiny_run), [data], out, batch=4, candidates="likelihood")
    return out


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def scores(folder: Path) -> dict:
    return json.loads((folder / "scores.json").read_text())


def test_the_model_stands_beside_the_rankers_that_cost_nothing(ranked):
    found = scores(ranked)
    assert found["candidates"] == "likelihood"
    rows = {name: row for name, row in found["floors"].items() if "hits1" in row}
    assert rows.keys() == FLOORS
    for name, row in {"likelihood": found["model"], **rows}.items():
        assert row.keys() >= set(HITS)
        assert f"|ranker:{name}|" in row["hits1"]["signature"]
        assert "|candidates:6|" in row["hits1"]["signature"]
    assert "decoding" not in found["model"]["hits1"]["signature"]
    assert set(rows["chance"]) == set(HITS)
    assert rows["chance"]["hits1"]["value"] == pytest.approx(100 / 6)


def test_predictions_hold_what_the_numbers_can_be_computed_from_again(ranked):
    replies = read_predictions(ranked / "predictions.jsonl")
    for name in HITS:
        again = Metric.build(name).measure(replies)
        assert again.value == scores(ranked)["model"][name]["value"]
        assert list(again.interval) == scores(ranked)["model"][name]["interval"]
    assert all(len(line["ranking"]["right"]) == 1 and len(line["ranking"]["wrong"]) == 5 for line in lines(ranked))


def test_the_gold_replys_score_is_its_mean_nats(ranked):
    for line in lines(ranked):
        assert line["ranking"]["right"] == [pytest.approx(-line["nats"] / line["tokens"], abs=1e-5)]


def test_candidates_change_neither_replies_nor_likelihoods(ranked, tiny_run, bare, tmp_path):
    evaluate(Run(tiny_run), [bare], tmp_path, batch=4)
    for one, other in zip(lines(ranked), lines(tmp_path), strict=True):
        assert one.pop("ranking")
        assert "ranking" not in other
        assert one == other
    hits = {name for name in scores(ranked)["model"] if name in HITS}
    assert scores(tmp_path)["model"].keys() == scores(ranked)["model"].keys() - hits
    assert not FLOORS & scores(tmp_path)["floors"].keys()


def test_while_it_answers_the_model_reads_no_candidate(headed, data):
    speaker = Speaker(Run(headed), Run(headed).recipe().decoding)
    seen = []
    hook = speaker.model.register_forward_pre_hook(lambda _, __, given: seen.append(given), with_kwargs=True)
    for one in speaker.pack(load([data]).dialogues):
        seen.clear()
        speaker.answer([one], seed=0)
        scored = [given for given in seen if given.get("labels") is not None]
        assert [given["input_ids"].tolist() for given in scored] == [[one.prompt + one.reply]]
        assert seen[1]["input_ids"].tolist() == [one.prompt]  # from here on it reads what it said itself
        assert all(given["input_ids"].shape == (1, 1) for given in seen[2:])
        assert all(given.get("candidates") is None for given in seen)
    hook.remove()


def test_a_head_ranks_where_there_is_one(headed, data, tmp_path):
    found = evaluate(Run(headed), [data], tmp_path, candidates="head")
    assert "|ranker:head|" in found.model["hits1"].signature
    assert found.notes == []


def test_a_head_that_nobody_asked_is_mentioned(headed, data, bare, tmp_path):
    assert "--candidates head" in evaluate(Run(headed), [data], tmp_path / "a", limit=3).notes[-1]
    assert evaluate(Run(headed), [bare], tmp_path / "b", limit=3).notes == []


def test_an_interrupted_ranking_goes_on_where_it_stopped(ranked, tiny_run, data, tmp_path, monkeypatch):
    rank, batches = Likelihood.rank, []

    def broken(self, dialogues, seed):
        if len(batches) == 2:
            raise RuntimeError("killed")
        batches.append(len(dialogues))
        return rank(self, dialogues, seed)

    monkeypatch.setattr(Likelihood, "rank", broken)
    with pytest.raises(RuntimeError, match="killed"):
        evaluate(Run(tiny_run), [data], tmp_path, batch=4, candidates="likelihood")
    monkeypatch.setattr(Speaker, "answer", None)  # what was said is in the journal
    whole = len(lines(ranked))
    monkeypatch.setattr(
        Likelihood, "rank", lambda self, dialogues, seed: batches.append(len(dialogues)) or rank(self, dialogues, seed)
    )
    batches.clear()
    evaluate(Run(tiny_run), [data], tmp_path, batch=4, candidates="likelihood")
    assert sum(batches) == whole - 8
    assert lines(tmp_path) == lines(ranked)


def test_the_seed_changes_what_is_shown_first_and_no_score(ranked, tiny_run, data, tmp_path):
    evaluate(Run(tiny_run), [data], tmp_path, batch=3, seed=5, candidates="likelihood")
    for one, other in zip(lines(tmp_path), lines(ranked), strict=True):
        assert one["ranking"]["wrong"] == pytest.approx(other["ranking"]["wrong"], abs=1e-5)


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("likelihoods", "Did you mean 'likelihood'?"),
        ("head", "this model has no candidate head: rank with --candidates likelihood"),
        ("tfidf", "Choose one of: none, likelihood, head"),
    ],
)
def test_what_a_user_can_get_wrong(tiny_run, data, tmp_path, how, line):
    with pytest.raises(UserError) as caught:
        evaluate(Run(tiny_run), [data], tmp_path / "out", candidates=how)
    assert line in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_data_without_candidates_are_one_line(tiny_run, bare, tmp_path):
    arguments = ["evaluate", str(tiny_run), "--data", str(bare), "--candidates", "likelihood", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "examples have no candidates to rank" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_table_shows_ranks(headed, data, tmp_path):
    arguments = ["evaluate", str(headed), "--data", str(data), "--candidates", "head", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*arguments, "--limit", "4"])
    assert result.exit_code == 0, result.output
    table = result.stdout[result.stdout.index("rank of the gold reply") :].splitlines()
    assert table[2].split() == list(HITS)
    assert {row.split()[0] for row in table[4:9]} == {"model", *FLOORS}


@pytest.mark.parametrize("ranking", [{"right": [1.0]}, {"right": ["a"], "wrong": []}, [1.0], {"right": 1, "wrong": []}])
def test_a_broken_ranking_is_named_with_its_line(ranked, tmp_path, ranking):
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({**lines(ranked)[0], "ranking": ranking}) + "\n")
    with pytest.raises(UserError, match=r"predictions\.jsonl:1: expected an object of two lists of numbers"):
        read_predictions(path)
