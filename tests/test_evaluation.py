"""Evaluation: a tiny run's replies and scores, and the floors on real data by the same path."""

import json
import shutil
from pathlib import Path

import pytest

from personae.data.load import load
from personae.decoding import Decoding
from personae.errors import UserError
from personae.evaluation import evaluate, read_predictions, settings
from personae.evaluation.judge import judge
from personae.evaluation.predictions import JOURNAL, Journal, Said
from personae.evaluation.scores import make_floor
from personae.evaluation.speaker import Speaker
from personae.runs import Run

TEXT = {"f1", "bleu", "bleu_p1", "bleu_p2", "dist1", "dist2"}
FLOORS = {"constant", "constant:convai2", "constant:fluent", "copy_last", "copy_persona", "retrieval"}
TRAINED = {"constant", "constant:fluent", "retrieval"}
CONVAI2 = (
    "1 your persona: i bake .\n2 your persona: i am tall .\n"
    "3 hi !\thello there .\n4 what do you do ?\ti bake bread and cakes for a living .\n"
    "1 your persona: i sing .\n2 hello !\thi , how are you ?\n"
)


@pytest.fixture(scope="module")
def questions(tiny_run) -> Path:
    return tiny_run / "data" / "unseen_combinations.jsonl"


@pytest.fixture(scope="module")
def scored(tiny_run, questions, tmp_path_factory) -> Path:
    """Folder of an evaluation of the tiny run."""
    out = tmp_path_factory.mktemp("evaluation") / "whole"
    evaluate(Run(tiny_run), [questions], out, batch=7)
    return out


def written(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def scores(folder: Path) -> dict:
    return json.loads((folder / "scores.json").read_text())


def test_only_whole_files_are_left(scored):
    assert sorted(path.name for path in scored.iterdir()) == ["predictions.jsonl", "scores.json"]


def test_predictions_stand_in_file_order_and_without_candidates(scored, questions):
    lines, dialogues = written(scored), load([questions]).dialogues
    assert [line["id"] for line in lines] == list(range(len(dialogues)))
    for line, dialogue in zip(lines, dialogues, strict=True):
        assert line["references"] == [dialogue.response]
        assert line["conversation"] == dialogue.conversation
        assert line["sources"] == {name: list(texts) for name, texts in dialogue.sources.items()}
        assert line["tags"] == dialogue.tags
        assert "candidates" not in line
        assert "distractors" not in line


def test_reading_predictions_gives_the_replies_back(scored):
    replies = read_predictions(scored / "predictions.jsonl")
    assert [reply.prediction for reply in replies] == [line["prediction"] for line in written(scored)]
    assert [reply.nats for reply in replies] == [line["nats"] for line in written(scored)]
    assert all(reply.tags["kind"] and reply.sources["persona"] for reply in replies)
    assert any(reply.answer for reply in replies)


def test_every_metric_of_model_and_floors_with_signature_and_interval(scored):
    found = scores(scored)
    accuracies = {"persona_accuracy", "context_accuracy", "both_accuracy"}
    likelihoods = {"nats_per_token", "perplexity_token", "nats_per_word", "perplexity_word", "nats_per_byte"}
    assert found["model"].keys() >= TEXT | accuracies | likelihoods
    assert found["floors"].keys() >= FLOORS
    short = found["data"]["sha256"][:12]
    assert found["floors"]["human"].keys() & TEXT == {"dist1", "dist2"}
    for name, row in {"model": found["model"], **found["floors"]}.items():
        assert name == "human" or row.keys() >= TEXT | accuracies
        assert name == "model" or not row.keys() & likelihoods
        for score in row.values():
            assert f"|data:{short}|" in score["signature"]
            assert f"|n:{found['data']['examples']}|" in score["signature"]
            low, high = score["interval"] or (score["value"], score["value"])
            assert low <= score["value"] <= high
    assert "|decoding:greedy,max_tokens=8|" in found["model"]["f1"]["signature"]
    assert "decoding" not in found["model"]["perplexity_token"]["signature"]
    assert "|floor:copy_persona|seed:0|" in found["floors"]["copy_persona"]["f1"]["signature"]


def test_facts_of_the_evaluation(scored):
    found = scores(scored)
    assert found["data"]["conversations"] == 5
    assert found["data"]["limit"] is None
    assert found["decoding"]["max_tokens"] == 8
    assert found["cuts"]["dialogues"] == found["data"]["examples"]
    assert found["versions"].keys() >= {"personae", "torch", "transformers", "sacrebleu", "python"}
    assert found["seconds"] > 0


def test_nats_are_exact_and_the_end_token_counts(scored, tiny_run, questions):
    run = Run(tiny_run)
    speaker, dialogue = Speaker(run, run.recipe().decoding), load([questions]).dialogues[3]
    packed = speaker.pack([dialogue])[0]
    output = speaker.model(**speaker.collate([packed]))
    line = written(scored)[3]
    assert line["tokens"] == len(speaker.packer.encode(dialogue.response)) + 1
    assert line["nats"] == pytest.approx(output.loss.item() * line["tokens"], abs=1e-4)


def test_the_batch_changes_no_result(scored, tiny_run, questions, tmp_path):
    evaluate(Run(tiny_run), [questions], tmp_path, batch=1)
    for one, seven in zip(written(tmp_path), written(scored), strict=True):
        assert one["prediction"] == seven["prediction"]
        assert one["nats"] == pytest.approx(seven["nats"], abs=1e-4)


def test_limit_takes_the_first_examples_and_says_so(scored, tiny_run, questions, tmp_path):
    evaluate(Run(tiny_run), [questions], tmp_path, limit=4)
    assert [line["references"] for line in written(tmp_path)] == [x["references"] for x in written(scored)[:4]]
    found = scores(tmp_path)
    assert found["data"]["limit"] == found["data"]["examples"] == 4
    assert "|limit:first-4|" in found["model"]["f1"]["signature"]


def test_unseen_personas_are_scored_apart(scored, tiny_run, tmp_path):
    assert scores(scored)["unseen_personas"]["seen_share"] == 0
    known = tiny_run / "data" / "train.jsonl"
    evaluate(Run(tiny_run), [known], tmp_path, limit=6)
    apart = scores(tmp_path)["unseen_personas"]
    assert (apart["seen_share"], apart["examples"], apart["scores"]) == (1, 0, {})


def test_unseen_personas_ignore_case_order_and_punctuation(shuffled_personas):
    dialogues, training = shuffled_personas
    judged = judge(dialogues, None, training, {"data": "x"})
    assert judged.unseen.examples == 1
    f1 = judged.unseen.scores["copy_last"]["f1"]
    assert "|n:1|" in f1.signature
    assert "|only:unseen-personas|" in f1.signature


def test_bf16_changes_the_replies_only(scored, tiny_run, questions, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "has_bf16", lambda: True)
    evaluate(Run(tiny_run), [questions], tmp_path, batch=7, precision="bf16")
    assert [line["nats"] for line in written(tmp_path)] == [line["nats"] for line in written(scored)]
    assert "|precision:bf16|" in scores(tmp_path)["model"]["f1"]["signature"]
    monkeypatch.setattr(settings, "has_bf16", lambda: False)
    with pytest.raises(UserError, match="no bf16 units"):
        evaluate(Run(tiny_run), [questions], tmp_path, precision="bf16")


@pytest.fixture
def shuffled_personas(tmp_path):
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text(CONVAI2)
    other.write_text("1 your persona: I am tall!\n2 your persona: I bake\n3 hey .\tyes .\n")
    return load([one], "convai2").dialogues, load([other], "convai2").dialogues


def test_without_training_data_the_rest_is_scored_and_it_is_said(tiny_run, questions, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(tiny_run, copy)
    (copy / "data" / "train.jsonl").unlink()
    found = evaluate(Run(copy), [questions], tmp_path / "out", limit=4)
    assert found.floors.keys() == FLOORS - TRAINED | {"human"}
    assert found.unseen is None
    assert "the floors constant, constant:fluent, retrieval and" in found.notes[0]
    assert "no training data" in found.notes[0]


def test_sampling_is_decided_by_the_seed(tiny_run, questions, tmp_path):
    sampled = Decoding(max_tokens=8, sample=True)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        evaluate(Run(tiny_run), [questions], tmp_path / name, limit=6, decoding=sampled, seed=seed)
    texts = {name: [line["prediction"] for line in written(tmp_path / name)] for name in "abc"}
    assert texts["a"] == texts["b"] != texts["c"]
    assert "|decoding:sample,max_tokens=8|precision:fp32|seed:1|" in scores(tmp_path / "a")["model"]["f1"]["signature"]


def test_an_interrupted_evaluation_goes_on_where_it_stopped(scored, tiny_run, questions, tmp_path, monkeypatch):
    answer, batches = Speaker.answer, []

    def broken(self, packed, seed):
        if len(batches) == 2:
            raise RuntimeError("killed")
        batches.append(len(packed))
        return answer(self, packed, seed)

    monkeypatch.setattr(Speaker, "answer", broken)
    with pytest.raises(RuntimeError, match="killed"):
        evaluate(Run(tiny_run), [questions], tmp_path, batch=7)
    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('[3, "half a li')
    batches[:] = [0]
    evaluate(Run(tiny_run), [questions], tmp_path, batch=7)
    assert len(batches) == 2
    assert written(tmp_path) == written(scored)
    assert scores(tmp_path)["model"] == scores(scored)["model"]


def test_a_journal_of_another_evaluation_is_not_used(tmp_path):
    Journal(tmp_path, "one").add({0: Said("hi", 1.0, 2)})
    assert Journal(tmp_path, "one").said == {0: Said("hi", 1.0, 2)}
    assert Journal(tmp_path, "other").said == {}


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        (None, {}, "no such file"),
        ("", {}, "is empty"),
        (CONVAI2, {"reader": "jsonl"}, "looks like 'convai2'"),
        (CONVAI2, {"limit": 0}, "limit=0"),
        (CONVAI2, {"batch": 0}, "batch=0"),
        (CONVAI2, {"precision": "bf61"}, "Did you mean 'bf16'?"),
        (CONVAI2, {"decoding": Decoding(beams=2, copies=2)}, "leave it at 1"),
        (CONVAI2, {"decoding": Decoding(max_tokens=600)}, "the decoder has room for"),
        (CONVAI2.replace("hello there", "so " * 600), {}, "the decoder has room for"),
    ],
)
def test_what_a_user_can_get_wrong(tiny_run, tmp_path, text, options, line):
    path = tmp_path / "data.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=line):
        evaluate(Run(tiny_run), [path], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_reply_over_its_training_budget_is_scored_whole(tiny_run, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(CONVAI2.replace("hello there", "so " * 80))
    evaluate(Run(tiny_run), [path], tmp_path / "out")
    assert written(tmp_path / "out")[0]["tokens"] > Run(tiny_run).recipe().text.budgets["reply"]


def test_no_run(tmp_path, questions):
    with pytest.raises(UserError, match="is no run"):
        evaluate(Run(tmp_path / "none"), [questions], tmp_path / "out")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "one JSON object"),
        ("[1]", "one JSON object"),
        ('{"references": ["a"]}', "a text in 'prediction'"),
        ('{"prediction": "a", "references": []}', "one or more texts in 'references'"),
        ('{"prediction": "a", "references": ["b"], "nats": "c"}', "a number in 'nats'"),
        ('{"prediction": "a", "references": ["b"], "tags": {"c": 1}}', "an object of texts in 'tags'"),
    ],
)
def test_a_malformed_prediction_is_named_by_its_line(tmp_path, line, expected):
    path = tmp_path / "predictions.jsonl"
    path.write_text(f'{{"prediction": "a", "references": ["b"]}}\n{line}\n')
    with pytest.raises(UserError, match=expected) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_the_constant_beats_published_systems_on_the_whole_of_convai2(shared_data):
    data = load([shared_data / "convai2" / "valid_self_original.txt"])
    f1 = make_floor("constant:convai2", data.dialogues, None).score({"data": data.sha256[:12]})["f1"]
    assert f1.value == pytest.approx(22.98, abs=0.005)
    assert "|n:7801|conv:1000|" in f1.signature
    assert f1.interval[0] < f1.value < f1.interval[1]


@pytest.mark.slow
def test_floors_on_the_whole_of_convai2(shared_data):
    data = load([shared_data / "convai2" / "valid_self_original.txt"])
    judged = judge(data.dialogues, None, None, {"data": data.sha256[:12]})
    measured = {name: round(scores["f1"].value, 2) for name, scores in judged.floors.items()}
    assert measured == {"constant:convai2": 22.98, "copy_last": 13.94, "copy_persona": 12.85}
