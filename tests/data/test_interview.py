"""The interview corpus: same seed, same bytes; splits apart; every answer rests where it says."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from personae.data.interview import DEFAULT_SIZES, FAMILIES, SPLITS, frames, generate, write
from personae.data.interview.family import Fact, with_article
from personae.data.interview.splits import owner
from personae.errors import UserError
from personae.metrics.persona_accuracy import is_right

Conversation = dict[str, Any]
Example = tuple[Conversation, int, dict[str, Any]]  # conversation, position of the reply, reply

SAMPLE = {"train": 1500, "valid": 100, "unseen_combinations": 250, "unseen_values": 100}
TESTS = ("unseen_combinations", "unseen_values")
VALUES = {word: family.name for family in FAMILIES for word in family.words}
HELD_OUT = {word for family in FAMILIES for slot in family.held_out for word in slot}


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Conversation]]:
    return {split: list(generate(split, size)) for split, size in SAMPLE.items()}


@pytest.fixture(scope="module")
def examples(corpus: dict[str, list[Conversation]]) -> list[Example]:
    return [example for split in SPLITS for example in replies(corpus[split])]


def replies(conversations: Iterable[Conversation], kind: str = "") -> list[Example]:
    return [
        (conversation, number, turn)
        for conversation in conversations
        for number, turn in enumerate(conversation["turns"])
        if turn["role"] == "self" and kind in ("", turn["tags"]["kind"])
    ]


def words(conversation: Conversation) -> set[str]:
    return {word for text in texts_of(conversation) for word in text.split()}


def facts(conversation: Conversation) -> list[tuple[str, ...]]:
    """The values in each persona sentence."""
    return [tuple(word for word in text.split() if word in VALUES) for text in conversation["persona"]]


def pairs(conversation: Conversation) -> set[tuple[tuple[str, ...], ...]]:
    return {tuple(sorted(pair)) for pair in combinations(facts(conversation), 2)}


def right(prediction: str, turn: dict[str, Any]) -> bool:
    return is_right(prediction, turn["answer"], turn["tags"]["others"].split("|"))


def accuracy(asked: list[Example], answer: Callable[[Conversation, int], str]) -> float:
    return sum(right(answer(talk, number), turn) for talk, number, turn in asked) / len(asked)


def test_seed_and_number_decide_the_conversation() -> None:
    assert list(generate("train", 5, seed=3)) == list(generate("train", 8, seed=3))[:5]
    assert list(generate("train", 5, seed=3)) != list(generate("train", 5, seed=4))


def test_write_gives_the_same_bytes_again_and_leaves_nothing_else(tmp_path: Path) -> None:
    sizes = dict.fromkeys(SPLITS, 4)
    first, second = write(tmp_path / "a", 1, sizes), write(tmp_path / "b", 1, sizes)
    assert {path.name for path in (tmp_path / "a").iterdir()} == {f"{split}.jsonl" for split in SPLITS}
    for split in SPLITS:
        assert first[split].read_bytes() == second[split].read_bytes()
        assert len(first[split].read_text().splitlines()) == 4


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write(tmp_path, 1, {"valid": 2})["valid"].read_bytes()
    monkeypatch.setattr("personae.data.interview.corpus.json.dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(tmp_path, 2, {"valid": 2})
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [old]


def test_the_default_sizes_name_every_split() -> None:
    assert tuple(DEFAULT_SIZES) == SPLITS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trian", 1), "Did you mean 'train'"),
        (("train", -1), "0 or more"),
        (("train", 1, 0, 6, 0), "1 or more"),
        (("train", 1, 0, 4, 4), "from 5 to 29"),
        (("train", 1, 0, 30, 4), "from 5 to 29"),
    ],
)
def test_wrong_arguments_are_the_users_error(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        generate(*arguments)


@pytest.mark.parametrize(("count", "exchanges"), [(2, 1), (5, 4), (29, 4), (18, 15)])
@pytest.mark.parametrize("split", SPLITS)
def test_other_numbers_of_facts_and_exchanges_work(split: str, count: int, exchanges: int) -> None:
    for conversation in generate(split, 5, facts=count, exchanges=exchanges):
        assert len(conversation["persona"]) == count
        assert len(conversation["turns"]) in (2 * exchanges, 2 * exchanges + 2)


def test_a_value_belongs_to_one_family_and_to_no_template() -> None:
    assert len(VALUES) == sum(len(family.words) for family in FAMILIES)
    frame_texts = [text for name, group in vars(frames).items() if name.isupper() for text in flat(group)]
    texts = frame_texts + [text for family in FAMILIES for text in family.texts]
    assert not {word for text in texts for word in text.split()} & set(VALUES)


def flat(group: Any) -> list[str]:
    return [*group, *group.values()] if isinstance(group, dict) else list(group)


def test_families_have_enough_values_and_templates() -> None:
    for family in FAMILIES:
        assert all(12 <= len(slot) <= 24 and len(slot) == len(set(slot)) for slot in family.slots)
        assert len(set(family.sentences)) == len(set(family.questions)) == len(set(family.replies)) == 3
        for reply in (*family.replies, family.mine, family.yours):
            assert "{x}" in reply or "{a}" in reply
            assert "{y}" in reply or len(family.slots) == 1


def test_no_two_splits_share_a_persona(corpus: dict[str, list[Conversation]]) -> None:
    personas = {split: {frozenset(facts(one)) for one in corpus[split]} for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        assert not personas[one] & personas[other]


@pytest.mark.parametrize("split", ["valid", "unseen_combinations"])
def test_each_unseen_persona_has_a_pair_of_values_that_training_never_shows(split: str) -> None:
    trained = set().union(*(pairs(one) for seed in range(3) for one in generate("train", 1500, seed)))
    tested = [pairs(one) for one in generate(split, 100)]
    assert all(any(pair not in trained for pair in persona) for persona in tested)
    kept = {pair for persona in tested for pair in persona if is_kept(pair, split)}
    assert not kept & trained
    assert all(persona & kept for persona in tested)


def is_kept(pair: tuple[tuple[str, ...], ...], split: str) -> bool:
    by_name = {family.name: family for family in FAMILIES}
    one, other = (Fact(by_name[VALUES[values[0]]], ordered(by_name, values)) for values in pair)
    return owner(one, other) == split


def ordered(by_name: dict[str, Any], values: tuple[str, ...]) -> tuple[str, ...]:
    slots = by_name[VALUES[values[0]]].slots
    return tuple(next(word for word in values if word in slot) for slot in slots)


def test_held_out_values_occur_in_their_split_only(corpus: dict[str, list[Conversation]]) -> None:
    for split in ("train", "valid", "unseen_combinations"):
        assert not set().union(*map(words, corpus[split])) & HELD_OUT
    assert set().union(*map(words, corpus["unseen_values"])) >= HELD_OUT
    for kind in ("persona", "context", "both"):
        for _, _, turn in replies(corpus["unseen_values"], kind):
            assert set(turn["answer"]) - {"yes", "no"} <= HELD_OUT


def test_training_shows_every_other_value(corpus: dict[str, list[Conversation]]) -> None:
    assert set(VALUES) - HELD_OUT <= set().union(*map(words, corpus["train"]))


def test_the_gold_reply_is_right(examples: list[Example]) -> None:
    for _, _, turn in examples:
        assert all(one in turn["text"].split() for one in turn["answer"])
        assert not turn["answer"] or right(turn["text"], turn)


def test_evidence_holds_the_answer(examples: list[Example]) -> None:
    for talk, number, turn in examples:
        kind, evidence = turn["tags"]["kind"], turn["evidence"]
        values = set(turn["answer"]) - ({"yes", "no"} if kind == "both" else set())
        in_persona = [set(talk["persona"][place].split()) for place in evidence["persona"]]
        in_context = [set(talk["turns"][place]["text"].split()) for place in evidence["context"]]
        assert len(in_persona) == (kind in ("persona", "both"))
        assert len(in_context) == (kind in ("context", "both"))
        assert all(values <= found for found in in_persona)
        assert kind != "context" or values <= in_context[0]
        assert all(place < number for place in evidence["context"])
        assert all(talk["turns"][place]["role"] == "partner" for place in evidence["context"])


def test_context_answers_are_told_earlier_and_once(examples: list[Example]) -> None:
    for talk, number, turn in examples:
        if turn["tags"]["kind"] == "context":
            told = [turn["text"].split() for turn in talk["turns"][:number]]
            heard = [place for place, text in enumerate(told) if turn["answer"][0] in text]
            assert heard == turn["evidence"]["context"]
            assert heard[0] < number - 1


def test_yes_means_that_both_values_agree(examples: list[Example]) -> None:
    for talk, _, turn in examples:
        if turn["tags"]["kind"] == "both":
            said, value = talk["turns"][turn["evidence"]["context"][0]]["text"].split(), turn["answer"][1]
            assert (turn["answer"][0] == "yes") == (value in said)
            assert any(VALUES.get(word) == turn["tags"]["family"] for word in said)


def test_small_talk_has_one_reply_per_question(examples: list[Example]) -> None:
    small = [(talk["turns"][n - 1]["text"], t) for talk, n, t in examples if t["tags"]["kind"] == "neither"]
    tables = {**frames.OPENING, **frames.SMALL_TALK, **frames.CLOSING}
    for text, turn in small:
        assert turn["text"] == next(reply for question, reply in tables.items() if text.endswith(question))
        assert turn["answer"] == []
        assert turn["evidence"] == {"persona": [], "context": []}


def test_no_family_is_asked_for_twice(examples: list[Example]) -> None:
    asked = Counter((talk["id"], turn["tags"]["family"]) for talk, _, turn in examples if turn["answer"])
    assert set(asked.values()) == {1}


@pytest.mark.parametrize("split", SPLITS)
def test_shares_of_kinds(split: str) -> None:
    asked = replies(generate(split, 400))
    share = {kind: n / len(asked) for kind, n in Counter(t["tags"]["kind"] for _, _, t in asked).items()}
    assert 0.45 < share["persona"] < 0.55
    assert 0.12 < share["context"] < 0.18
    assert 0.12 < share["both"] < 0.18
    assert 0.15 < share["neither"] < 0.25
    agree = [turn["answer"][0] == "yes" for _, _, turn in asked if turn["tags"]["kind"] == "both"]
    assert 0.4 < sum(agree) / len(agree) < 0.6


@pytest.mark.parametrize("split", TESTS)
def test_floors_are_low(corpus: dict[str, list[Conversation]], split: str) -> None:
    asked, draw = replies(corpus[split], "persona"), random.Random(0)
    constants = {turn["text"] for _, _, turn in asked}
    assert max(sum(right(text, turn) for _, _, turn in asked) for text in constants) / len(asked) < 0.05
    assert accuracy(asked, lambda talk, number: talk["persona"][0]) <= 0.2
    assert accuracy(asked, lambda talk, number: draw.choice(talk["persona"])) <= 0.2
    assert accuracy(asked, lambda talk, number: talk["turns"][number - 1]["text"]) <= 0.01


@pytest.mark.parametrize("split", TESTS)
@pytest.mark.parametrize("kind", ["persona", "context", "both"])
def test_reciting_a_whole_source_is_wrong(corpus: dict[str, list[Conversation]], split: str, kind: str) -> None:
    asked = replies(corpus[split], kind)
    assert accuracy(asked, lambda talk, number: "no , " + " ".join(talk["persona"])) == 0.0
    assert accuracy(asked, lambda talk, number: " ".join(t["text"] for t in talk["turns"][:number])) < 0.2


def test_word_overlap_finds_the_fact_about_as_often_as_chance(corpus: dict[str, list[Conversation]]) -> None:
    sentences = [set(text.split()) for talk in corpus["train"] for text in talk["persona"]]
    seen, total = Counter(word for sentence in sentences for word in sentence), len(sentences)

    def closest(talk: Conversation, number: int) -> str:
        question = set(talk["turns"][number - 1]["text"].split())
        persona: list[str] = talk["persona"]
        return max(persona, key=lambda text: similarity(question, set(text.split()), seen, total))

    for split in TESTS:
        assert accuracy(replies(corpus[split], "persona"), closest) < 0.25


def similarity(one: set[str], other: set[str], seen: Counter[str], total: int) -> float:
    """Cosine of the TF-IDF vectors of two sets of words."""

    def norm(group: set[str]) -> float:
        return math.sqrt(sum(math.log((1 + total) / (1 + seen[word])) ** 2 for word in group)) or 1.0

    shared = sum(math.log((1 + total) / (1 + seen[word])) ** 2 for word in one & other)
    return shared / norm(one) / norm(other)


def test_texts_are_plain_words(corpus: dict[str, list[Conversation]]) -> None:
    found = set().union(*(words(one) for split in SPLITS for one in corpus[split]))
    assert len(found) < 1200
    assert all(re.fullmatch(r"[a-z]+|[.,?]", word) for word in found)


def test_articles_fit(corpus: dict[str, list[Conversation]]) -> None:
    assert (with_article("baker"), with_article("axe")) == ("a baker", "an axe")
    texts = [text for split in SPLITS for one in corpus[split] for text in texts_of(one)]
    assert not [text for text in texts if re.search(r"\ba [aeiou]|\ban [^aeiou]", text)]


def texts_of(conversation: Conversation) -> list[str]:
    return [*conversation["persona"], *(turn["text"] for turn in conversation["turns"])]
