"""Pairs made from interview: every label follows from the facts, and what is held out was never trained on."""

import re

import pytest

from personae.consistency.labels import CONTRADICTS, ENTAILS, NEUTRAL
from personae.consistency.made import make_interview, make_pairs
from personae.consistency.pairs import hash_of
from personae.data.interview import FAMILIES
from personae.data.interview.facts import recognise

TRAIN = make_pairs("train", 120)
TEST = make_pairs("unseen_combinations", 60)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@pytest.mark.parametrize("split", ["train", "unseen_combinations", "unseen_values"])
def test_what_is_entailed_repeats_every_value_of_the_sentence(split):
    pairs = [pair for pair in make_pairs(split, 60) if pair.label == ENTAILS]
    assert len(pairs) > 100
    for pair in pairs:
        assert set(recognise(pair.claim.sentence).values) <= words(pair.claim.reply)


@pytest.mark.parametrize("pairs", [TRAIN, TEST], ids=["train", "unseen_combinations"])
def test_what_contradicts_has_another_value_of_the_same_family(pairs):
    found = [pair for pair in pairs if pair.label == CONTRADICTS]
    assert len(found) > 100
    for pair in found:
        fact = recognise(pair.claim.sentence)
        said = words(pair.claim.reply)
        assert not set(fact.values) <= said
        assert any(said & set(slot) for slot in fact.family.slots)


def test_what_is_neutral_is_about_something_else_or_about_the_partner():
    for pair in (pair for pair in TRAIN if pair.label == NEUTRAL):
        fact, reply = recognise(pair.claim.sentence), pair.claim.reply
        own = recognise(reply)
        assert own is None or own.family != fact.family
        if reply.startswith(("yes , your", "of course , your", "sure , your")):
            assert "remember" in pair.claim.question or "know" in pair.claim.question or "tell" in pair.claim.question


def test_labels_are_balanced_and_a_share_of_questions_is_missing():
    for label in (ENTAILS, NEUTRAL, CONTRADICTS):
        assert 0.2 < sum(pair.label == label for pair in TRAIN) / len(TRAIN) < 0.5
    assert 0.02 < sum(not pair.claim.question for pair in TRAIN) / len(TRAIN) < 0.3


def clashes(pairs) -> set[tuple[str, ...]]:
    """Values set against each other, where a family has one."""
    found = set()
    for pair in (pair for pair in pairs if pair.label == CONTRADICTS):
        fact = recognise(pair.claim.sentence)
        if len(fact.family.slots) == 1:
            rivals = (words(pair.claim.reply) & set(fact.family.words)) - set(fact.values)
            found |= {tuple(sorted((fact.values[0], rival))) for rival in rivals}
    return found


def test_held_out_contradictions_set_values_against_each_other_that_training_never_does():
    train, test = clashes(make_pairs("train", 400)), clashes(TEST)
    assert len(test) > 50
    assert not train & test


def test_the_same_seed_makes_the_same_pairs():
    assert hash_of(make_pairs("train", 5, seed=1)) == hash_of(make_pairs("train", 5, seed=1))
    assert hash_of(make_pairs("train", 5, seed=1)) != hash_of(make_pairs("train", 5, seed=2))
    assert make_interview(2).about["train"]["pairs"] == len(make_pairs("train", 2))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_sentence_of_the_corpus_is_recognised(family):
    from personae.data.interview.family import Fact

    fact = Fact(family, tuple(slot[-1] for slot in family.slots))
    assert [recognise(fact.say(sentence)) for sentence in family.sentences] == [fact] * len(family.sentences)
    assert recognise("i say nothing that the corpus knows .") is None
