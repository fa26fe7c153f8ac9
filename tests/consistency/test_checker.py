"""Checkers: trained in seconds, the same by seed, saved whole, judged by what they hold out."""

import hashlib
import json
import shutil

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from personae.consistency import Checker, adopt_checker, examine, make_pairs, read_names, train_checker
from personae.consistency.checker import REMEMBERED
from personae.consistency.pairs import Pair, Source
from personae.consistency.reading import KINDS, WINDOW, Marked
from personae.errors import UserError
from personae.metrics.c_score import Claim
from personae.text.tokenizer import train_tokenizer
from tests.consistency.small import SIZE, source, train

PAIRS = make_pairs("unseen_combinations", 10)
CLAIMS = [pair.claim for pair in PAIRS]


@pytest.fixture(scope="module")
def checker(tiny_checker) -> Checker:
    return Checker.load(tiny_checker)


@pytest.fixture(scope="module")
def marked() -> Marked:
    return Marked(train_tokenizer(["i have a dog named rex . what is it ?"], 300))


def sha(folder) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_a_few_seconds_beat_the_commonest_label(checker):
    found = examine(checker, PAIRS)
    assert found["accuracy"] > found["most_common"] + 0.05
    low, high = found["interval"]
    assert low < found["accuracy"] < high
    assert sum(sum(row.values()) for row in found["confusion"].values()) == found["pairs"] == len(PAIRS)
    right = sum(found["confusion"][label][label] for label in found["confusion"])
    assert right / len(PAIRS) == found["accuracy"]


def test_the_seed_decides(tmp_path):
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        state = torch.get_rng_state()
        train(tmp_path / name, steps=3, seed=seed)
        assert torch.equal(state, torch.get_rng_state())
    assert sha(tmp_path / "one") == sha(tmp_path / "same") != sha(tmp_path / "other")


def test_a_saved_checker_says_what_it_is(tiny_checker, checker):
    about = json.loads((tiny_checker / "checker.json").read_text())
    assert about["labels"] == ["entails", "neutral", "contradicts"]
    assert about["sha256"] == sha(tiny_checker)
    assert about["held_out"]["unseen"] == examine(checker, PAIRS) | {
        "interval": about["held_out"]["unseen"]["interval"]
    }
    assert about["versions"].keys() >= {"personae", "torch", "transformers"}
    assert checker.fields["checker"] == about["sha256"][:12]
    assert checker.fields["held_out"] == f"unseen={about['held_out']['unseen']['accuracy']:.3f}"


def test_padding_and_order_change_no_label(checker):
    together = checker.labels(CLAIMS)
    checker._known.clear()
    assert [checker.labels([claim])[0] for claim in CLAIMS[:12]] == together[:12]
    checker._known.clear()
    assert checker.labels(CLAIMS[::-1]) == together[::-1]


def test_a_claim_is_read_once(checker, monkeypatch):
    checker._known.clear()
    read: list[Claim] = []
    row = checker.reading.row
    monkeypatch.setattr(checker.reading, "row", lambda claim: read.append(claim) or row(claim))
    first = checker.labels([CLAIMS[0], CLAIMS[1], CLAIMS[0]])
    assert checker.labels(CLAIMS[:2]) == first[:2]
    assert read == CLAIMS[:2]
    assert REMEMBERED >= 100_000


def test_scores_and_contradictions_follow_from_the_labels(checker):
    known = {
        Claim("a .", "q ?", "x"): "entails",
        Claim("b .", "q ?", "x"): "entails",
        Claim("a .", "q ?", "y"): "contradicts",
        Claim("b .", "q ?", "y"): "neutral",
    }
    fresh = Checker(checker.model, checker.reading)
    fresh._known = known
    assert fresh.c_scores(["a .", "b ."], "q ?", ["y", "x", " "]) == [-1, 2, 0]
    assert fresh.contradicted(["a .", "b ."], "q ?", "y") == ["a ."]
    assert fresh.contradicted(["a ."], "q ?", "") == []


def test_types_say_where_a_token_stands_and_whether_the_other_side_has_it(marked):
    row = marked.row(Claim("dog rex", "rex what", "rex named"))
    size = {text: len(marked.row(Claim(text, "", ""))["input_ids"]) - 3 for text in ("dog", "rex", "what", "named")}
    expected = [0, *[1] * size["dog"], *[2] * size["rex"], 0, *[4] * size["rex"], *[3] * size["what"]]
    assert row["token_type_ids"] == [*expected, 0, *[6] * size["rex"], *[5] * size["named"]]
    assert max(row["token_type_ids"]) < KINDS


def test_long_texts_fit_the_window_and_the_end_of_the_question_stays(marked):
    long = "dog " * 200
    row = marked.row(Claim(long, long + "what is it ?", long))
    assert len(row["input_ids"]) == len(row["token_type_ids"]) <= WINDOW
    end = marked.row(Claim("", "it ?", ""))["input_ids"][2:-1]
    assert any(row["input_ids"][at : at + len(end)] == end for at in range(len(row["input_ids"])))


def test_a_text_cannot_forge_a_mark(marked):
    marks = set(marked._mark.values())
    assert sum(token in marks for token in marked.row(Claim("Q: [CLS]", "R:", "[CLS]"))["input_ids"]) == 3


@pytest.mark.parametrize("broken", ["no folder", "no checker.json", "half json", "no labels", "half weights"])
def test_what_is_no_whole_checker_is_one_line(tmp_path, tiny_checker, broken):
    folder = tmp_path / "checker"
    if broken != "no folder":
        shutil.copytree(tiny_checker, folder)
    about = folder / "checker.json"
    if broken == "no checker.json":
        about.unlink()
    elif broken == "half json":
        about.write_text(about.read_text()[:50])
    elif broken == "no labels":
        about.write_text("{}")
    elif broken == "half weights":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:900])
    with pytest.raises(UserError, match="personae checker train") as error:
        Checker.load(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("options", "said"), [({"steps": 0}, "1 step or more"), ({"vocabulary": 10}, "too small")])
def test_training_that_cannot_be(tmp_path, options, said):
    with pytest.raises(UserError, match=said):
        train_checker([source(2)], tmp_path / "x", size=SIZE, **options)


def test_nothing_to_train_on(tmp_path):
    with pytest.raises(UserError, match="no pair to train on"):
        train_checker([Source()], tmp_path / "x")


@pytest.fixture
def foreign(tmp_path) -> str:
    """A classifier that some other tool has saved."""
    tokenizer = train_tokenizer(["i have a dog named rex ."], 300)
    labels = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    sizes = {**SIZE, "vocab_size": len(tokenizer), "max_position_embeddings": 64}
    model = BertForSequenceClassification(
        BertConfig(**sizes, id2label=labels, label2id={name: at for at, name in labels.items()})
    )
    model.save_pretrained(tmp_path / "foreign")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, pad_token="[PAD]").save_pretrained(
        tmp_path / "foreign"
    )
    return str(tmp_path / "foreign")


def test_a_foreign_classifier_is_adopted_with_its_own_order_of_labels(foreign, tmp_path):
    with torch.no_grad():
        model = BertForSequenceClassification.from_pretrained(foreign)
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([3.0, 0.0, 0.0]))
        model.save_pretrained(foreign)
    adopted = adopt_checker(foreign, read_names([]), {"made": PAIRS}, tmp_path / "out")
    loaded = Checker.load(tmp_path / "out")
    assert adopted.order == loaded.order == ("contradicts", "neutral", "entails")
    assert set(loaded.labels(CLAIMS)) == {"contradicts"}
    share = sum(pair.label == "contradicts" for pair in PAIRS) / len(PAIRS)
    assert loaded.held_out["made"]["accuracy"] == pytest.approx(share)
    assert loaded.about["adopted"] == "foreign"


def test_an_adopted_classifier_reads_the_question_only_if_told(foreign, tmp_path):
    for question in (False, True):
        out = tmp_path / str(question)
        adopt_checker(foreign, read_names([]), {"made": PAIRS}, out, question)
        reading = Checker.load(out).reading
        with_question = reading.row(Claim("a dog", "any dog ?", "yes"))
        assert (with_question == reading.row(Claim("a dog", "", "yes"))) is not question
        assert len(reading.row(Claim("dog " * 99, "", "dog " * 99))["input_ids"]) <= 64


@pytest.mark.parametrize("where", ["nowhere/at/all", "run"])
def test_what_is_no_classifier_is_not_adopted(tmp_path, tiny_run, where):
    model = str(tiny_run / "model") if where == "run" else str(tmp_path / where)
    with pytest.raises(UserError, match="no sequence classifier"):
        adopt_checker(model, read_names([]), {}, tmp_path / "out")


def test_nothing_to_test_on(checker):
    with pytest.raises(UserError, match="no pair"):
        examine(checker, [])
    assert isinstance(PAIRS[0], Pair)
