"""Candidate replies: what is drawn, and training that tells the gold one from them."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from personae.errors import UserError
from personae.text.dialogue import PARTNER, Dialogue
from personae.text.pack import Packer
from personae.text.tokenizer import train_tokenizer
from personae.training import check_model, train
from personae.training.examples import CandidateDataset, Replies
from tests.training.small import POSITIONS, digest, logged, small_recipe

HEAD = ("model.options.candidate_head=choice", "train.candidates=3")
SAID = ("yes .", "no .", "i do .", "so it is .", "maybe .", "never .")
TOKENIZER = train_tokenizer(SAID, 264 + 20)


def dialogue(response: str, talk: str, distractors: tuple[str, ...] = (), references: tuple[str, ...] = ()) -> Dialogue:
    sources, roles = {"context": ("hello !",)}, {"context": (PARTNER,)}
    return Dialogue(sources, response, references, distractors, roles, conversation=talk)


def packer(reply: int = 40) -> Packer:
    return Packer(TOKENIZER, (), ("context",), {"context": 60, "reply": reply})


def drawn(dialogues: list[Dialogue], count: int, at: int = 0, seed: int = 0, reply: int = 40) -> list[str]:
    replies = Replies(packer(reply), dialogues, count)
    return [TOKENIZER.decode(ids[:-1]).strip() for ids in replies.draw(at, random.Random(seed))]


# Six dialogues; the first two are one conversation.
SIX = [dialogue(text, talk) for text, talk in zip(SAID, "aabcde", strict=True)]


def test_distractors_of_its_own_come_first() -> None:
    one = dialogue("yes .", "a", distractors=("no .", "never .", "maybe ."))
    for seed in range(20):
        found = drawn([one, *SIX[2:]], 2, seed=seed)
        assert len(set(found)) == 2
        assert set(found) <= {"no .", "never .", "maybe ."}


def test_too_few_are_filled_up_from_other_conversations() -> None:
    one = dialogue("yes .", "a", distractors=("never .",))
    found = Counter(text for seed in range(60) for text in drawn([one, *SIX[1:]], 3, seed=seed))
    assert found["never ."] == 60
    assert set(found) == {"never .", "i do .", "so it is .", "maybe ."}  # "no ." is said in the same conversation


def test_a_right_reply_is_no_wrong_one() -> None:
    one = dialogue("yes .", "a", distractors=("yes .", "i do .", "no ."), references=("i do .",))
    others = [dialogue(text, "b", distractors=SAID) for text in ("yes .", "maybe .", "i do .")]
    for seed in range(20):
        assert set(drawn([one, *others], 2, seed=seed)) == {"no .", "maybe ."}


def test_one_rare_reply_is_found_among_many_that_do_not_fit() -> None:
    many = [dialogue("no .", f"a{at}") for at in range(2000)]
    assert drawn([*many, dialogue("yes .", "b")], 1, at=7) == ["yes ."]


def test_dialogues_of_no_known_conversation_are_each_their_own() -> None:
    assert drawn([dialogue(text, "") for text in SAID[:2]], 1) == ["no ."]


def test_a_distractor_over_the_budget_is_left_out_and_counted() -> None:
    one = dialogue("yes .", "a", distractors=("no .", "never never never never never never ."))
    replies = Replies(packer(reply=6), [one, *SIX[2:]], 2)
    assert replies.long == 1
    assert 0 in replies.lacking


@pytest.mark.parametrize(
    "dialogues",
    [
        [dialogue(text, "a") for text in SAID],
        [dialogue("yes .", "a"), dialogue("yes .", "b")],
        [dialogue("yes .", "a", references=("no .",)), dialogue("no .", "b"), dialogue("maybe .", "b")],
        [dialogue("yes .", "a", distractors=("no .",)), dialogue("no .", "b")],
    ],
)
def test_too_few_replies_are_the_users_error(dialogues: list[Dialogue]) -> None:
    with pytest.raises(UserError, match=r"train\.candidates=3: .* lower it, or give more conversations"):
        Replies(packer(), dialogues, 2)


class Clock:
    epoch = 0


def dataset(seed: int = 0, end: tuple[int, ...] = ()) -> CandidateDataset:
    packed = [packer()(each) for each in SIX]
    return CandidateDataset(packed, Replies(packer(), SIX, 3), seed, end)


def test_the_gold_reply_stands_where_its_label_says_and_anywhere() -> None:
    places, data = Counter(), dataset(end=(7,))
    data.clock = Clock()
    for data.clock.epoch in range(100):
        for at in range(len(data)):
            packed = data[at]
            assert packed.candidates[packed.gold] == [*packed.reply, 7]
            assert len({tuple(each) for each in packed.candidates}) == 4
            places[packed.gold] += 1
    assert all(0.2 < places[place] / 600 < 0.3 for place in range(4))


def test_seed_epoch_and_position_decide_and_nothing_else() -> None:
    data, clock = dataset(), Clock()
    first = [data[at] for at in range(len(data))]
    assert [data[at] for at in reversed(range(len(data)))] == first[::-1]
    data.clock = clock
    assert [data[at] for at in range(len(data))] == first
    clock.epoch = 1
    assert [data[at] for at in range(len(data))] != first
    assert [dataset(seed=1)[at] for at in range(len(data))] != first


def test_drawing_leaves_the_global_generator_alone() -> None:
    state = random.getstate()
    dataset()[0]
    assert random.getstate() == state


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, train(small_recipe(*HEAD), folder)


def test_a_run_logs_the_choice_beside_the_reply(finished: tuple[Path, dict[str, Any]]) -> None:
    report = finished[1]
    lines = [line for line in report["history"] if "loss" in line]
    for line in lines:
        assert line["loss"] == pytest.approx(line["loss/nll"] + line["loss/choice"], rel=1e-3)
    assert lines[0]["loss/choice"] == pytest.approx(1.0986, abs=0.1)
    assert 0 <= report["last"]["eval_choice_accuracy"] <= 1
    candidates = report["data"]["train"]["candidates"]
    assert candidates["per_example"] == 3
    # An interview has no distractors.
    assert candidates["examples_filled_from_other_conversations"] == report["data"]["train"]["examples"]


def test_validation_is_that_of_the_reply_alone(finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Nats and open shares do not depend on whether rows are read as candidates."""
    options = ("train.steps=1", "train.lr=1e-12", "train.evaluate_every=1")
    plain = train(small_recipe(*options), tmp_path / "plain")["last"]
    ranked = train(small_recipe(*options, *HEAD), tmp_path / "ranked")["last"]
    assert set(ranked) - set(plain) == {"eval_choice_accuracy"}
    assert ranked["eval_loss"] == pytest.approx(plain["eval_loss"], rel=0.01)  # the head's start moves the generator


@pytest.mark.parametrize("last", [10])
def test_a_stop_and_a_resume_change_nothing(last: int, finished: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Across the end of an epoch, after which others are drawn."""
    folder = tmp_path / "run"

    class Stopped(BaseException):
        pass

    def tell(step: int, of: int, values: dict[str, float]) -> None:
        if step == last:
            raise Stopped

    with pytest.raises(Stopped):
        train(small_recipe(*HEAD), folder, tell=tell)
    report = train(small_recipe(*HEAD), folder, resume=True)
    assert logged(report) == logged(finished[1])
    assert digest(folder / "model/model.safetensors") == digest(finished[0] / "model/model.safetensors")


STILL = (
    *("model.options.encoder.hidden_dropout_prob=0", "model.options.encoder.attention_probs_dropout_prob=0"),
    *(f"model.options.decoder.{name}=0" for name in ("embd_pdrop", "attn_pdrop", "resid_pdrop")),
    "model.options.decoder.summary_first_dropout=0",
)


def test_accumulated_parts_train_as_the_whole_batch(tmp_path: Path) -> None:
    options = ("train.steps=4", "train.evaluate_every=2", *STILL, *HEAD, "train.buckets=false")
    whole = train(small_recipe(*options), tmp_path / "whole")
    parts = train(small_recipe(*options, "train.accumulation=3"), tmp_path / "parts")
    for one, other in zip(logged(whole), logged(parts), strict=True):
        assert one.keys() == other.keys()
        for key in {"loss", "loss/nll", "loss/choice", "grad_norm", "eval_loss"} & one.keys():
            assert one[key] == pytest.approx(other[key], rel=1e-4), key


def test_open_shares_count_every_row_that_is_read(tmp_path: Path) -> None:
    options = ("train.steps=1", "train.evaluate_every=1", "model.fusion={name: paa, tau: 0.0}")
    report = train(small_recipe(*options, *HEAD), tmp_path / "run")
    assert {value for key, value in report["last"].items() if key.startswith("open/")} == {1.0}


def test_a_binary_head_reads_a_token_of_its_own(tmp_path: Path) -> None:
    options = ("train.steps=2", "model.options.candidate_head=binary", "train.candidates=2")
    report = train(small_recipe(*options), tmp_path / "run")
    assert report["history"][0]["loss/choice"] == pytest.approx(0.6931, abs=0.1)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("train.candidates=1",), r"train\.candidates=1: give 2 or more"),
        (("train.candidates=-2",), r"train\.candidates=-2: give 2 or more"),
        (("train.candidates=2",), r"train\.candidates=2 needs a head .*candidate_head=choice or binary"),
        (("model.options.candidate_head=choice",), r"nothing to learn from: set train\.candidates=2"),
        (("model.options.candidate_head=chioce",), r"candidate_head='chioce'\. Did you mean 'choice'\?"),
        (("model.options.candidate_loss=2",), r"candidate_loss needs model\.options\.candidate_head=choice or binary"),
        ((*HEAD, "model.options.candidate_loss=0"), r"candidate_loss=0(\.0)? should be above 0"),
    ],
)
def test_contradictions_are_the_users_error(overrides: tuple[str, ...], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        check_model(small_recipe(*overrides))


def test_a_window_has_room_for_the_candidates_last_token() -> None:
    room = f"text.budgets.reply={POSITIONS - 128 - 1}"
    check_model(small_recipe(room, *HEAD))
    with pytest.raises(UserError, match=rf"ask for {POSITIONS + 1} tokens in 'decoder'"):
        check_model(small_recipe(room, "model.options.candidate_head=binary", "train.candidates=2"))
