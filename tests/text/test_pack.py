"""Budgets, cuts and marks, on a tokenizer whose every word is known."""

from pathlib import Path

import pytest

from personae.errors import UserError
from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.pack import Packer
from personae.text.tokenizer import decode_reply, load_tokenizer, train_tokenizer

PERSONA = ("i have two dogs .", "i live in oslo .", "my mother sings .")
TURNS = ("hello !", "hi there , how are you ?", "fine , thanks . where do you live ?")
ROLES = (PARTNER, SELF, PARTNER)
LARGE = {"persona": 200, "context": 200, "reply": 100}


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([*PERSONA, *TURNS], 270)


def dialogue(persona=PERSONA, turns=TURNS, roles=ROLES, response="in oslo ."):
    return Dialogue({"persona": persona, "context": turns}, response, roles={"context": roles}, conversation="c7")


def packer(tokenizer, sources=("persona", "context"), prompt=("persona",), **budgets):
    return Packer(tokenizer, sources, prompt, {**LARGE, **budgets})


def ids_of(tokenizer, *parts):
    """Ids of marks (as they are) and texts (as words within a line)."""
    marks = tokenizer.get_added_vocab()
    every = [[marks[part]] if part in marks else tokenizer(f" {part}")["input_ids"] for part in parts]
    return [token for ids in every for token in ids]


def test_sources_prompt_and_reply(tokenizer):
    packed = packer(tokenizer)(dialogue())
    assert packed.sources["persona"] == ids_of(tokenizer, "P:", *PERSONA)
    assert packed.sources["context"] == ids_of(tokenizer, "Q:", TURNS[0], "R:", TURNS[1], "Q:", TURNS[2])
    assert packed.prompt == ids_of(tokenizer, "P:", *PERSONA, "[BOS]")
    assert packed.reply == ids_of(tokenizer, "in oslo .", "[EOS]")
    assert packed.length == sum(map(len, (*packed.sources.values(), packed.prompt, packed.reply)))


def test_what_is_not_cut_decodes_to_the_text(tokenizer):
    made = packer(tokenizer)
    packed = made(dialogue())
    assert decode_reply(tokenizer, packed.sources["persona"]) == " ".join(PERSONA)
    assert decode_reply(tokenizer, packed.sources["context"]) == " ".join(TURNS)
    assert decode_reply(tokenizer, packed.reply) == "in oslo ."
    assert made.cuts.as_dict() == {"dialogues": 1, "texts_cut": {}, "tokens_cut": {}}


def test_every_word_knows_its_text(tokenizer):
    packed = packer(tokenizer, context=60)(dialogue())
    for name, texts in (("persona", PERSONA), ("context", TURNS)):
        assert len(packed.items[name]) == len(packed.sources[name])
        for at, text in enumerate(texts):
            words = [token for token, item in zip(packed.sources[name], packed.items[name], strict=True) if item == at]
            assert words in ([], ids_of(tokenizer, text))
    assert packed.items["persona"][0] == -1
    assert 0 not in packed.items["context"][:1]


def test_the_oldest_turn_goes_first(tokenizer):
    size = len(ids_of(tokenizer, "R:", TURNS[1], "Q:", TURNS[2]))
    for budget, kept in ((size, (1, 2)), (size + 1, (1, 2)), (size - 1, (2,))):
        made = packer(tokenizer, context=budget)
        packed = made(dialogue())
        assert tuple(sorted({item for item in packed.items["context"] if item >= 0})) == kept
        assert len(packed.sources["context"]) <= budget
        lost = [at for at in range(3) if at not in kept]
        assert made.cuts.texts == {"context": len(lost)}
        assert made.cuts.tokens == {"context": len(ids_of(tokenizer, *(TURNS[at] for at in lost)))}


def test_turns_are_dropped_without_a_gap(tokenizer):
    """A short old turn does not come back behind a long one that was dropped."""
    turns = ("hello !", "how are you ? " * 20, "fine .")
    packed = packer(tokenizer, context=len(ids_of(tokenizer, "Q:", "hello !", "Q:", "fine .")))(dialogue(turns=turns))
    assert packed.sources["context"] == ids_of(tokenizer, "Q:", "fine .")


def test_the_personas_last_sentences_go_first(tokenizer):
    made = packer(tokenizer, persona=len(ids_of(tokenizer, "P:", *PERSONA[:2])))
    packed = made(dialogue())
    assert packed.sources["persona"] == ids_of(tokenizer, "P:", *PERSONA[:2])
    assert packed.prompt == ids_of(tokenizer, "P:", *PERSONA[:2], "[BOS]")
    assert made.cuts.texts == {"persona": 1}
    assert made.cuts.tokens == {"persona": len(ids_of(tokenizer, PERSONA[2]))}


def test_a_single_long_text_loses_its_far_end(tokenizer):
    made = packer(tokenizer, persona=6, context=6)
    packed = made(dialogue())
    assert packed.sources["persona"] == ids_of(tokenizer, "P:", PERSONA[0])[:6]
    assert packed.sources["context"] == [*ids_of(tokenizer, "Q:"), *ids_of(tokenizer, TURNS[2])[-5:]]
    assert made.cuts.texts == {"persona": 2, "context": 2}
    assert made.cuts.tokens["persona"] == len(ids_of(tokenizer, *PERSONA)) - 5
    assert made.cuts.tokens["context"] == len(ids_of(tokenizer, *TURNS)) - 5


@pytest.mark.parametrize("budget", range(2, 90))
def test_no_budget_is_ever_passed_and_nothing_is_lost_uncounted(tokenizer, budget):
    made = packer(tokenizer, persona=budget, context=budget)
    packed = made(dialogue())
    for name, texts in (("persona", PERSONA), ("context", TURNS)):
        assert 2 <= len(packed.sources[name]) <= budget
        words = sum(item >= 0 for item in packed.items[name])
        assert words >= 1
        assert words + made.cuts.tokens.get(name, 0) == len(ids_of(tokenizer, *texts))


def test_cuts_add_up_over_dialogues(tokenizer):
    made = packer(tokenizer, context=len(ids_of(tokenizer, "Q:", TURNS[2])))
    for _ in range(3):
        made(dialogue())
    assert made.cuts.dialogues == 3
    assert made.cuts.texts == {"context": 6}


def test_a_reply_is_never_cut(tokenizer):
    size = len(ids_of(tokenizer, "in oslo .", "[EOS]"))
    assert len(packer(tokenizer, reply=size)(dialogue()).reply) == size
    with pytest.raises(UserError, match=rf"c7: the reply 'in oslo \.' has {size} tokens, the window {size - 1}"):
        packer(tokenizer, reply=size - 1)(dialogue())


@pytest.mark.parametrize("persona", [(), ("",), ("  ", "")])
def test_an_empty_persona_is_the_users_error(tokenizer, persona):
    with pytest.raises(UserError, match=r"c7 has no 'persona' \(sources with text: context\)"):
        packer(tokenizer)(dialogue(persona=persona))


def test_an_empty_sentence_beside_others_is_nothing(tokenizer):
    packed = packer(tokenizer)(dialogue(persona=("i have two dogs .", "", "my mother sings .")))
    assert packed.sources["persona"] == ids_of(tokenizer, "P:", "i have two dogs .", "my mother sings .")


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ({"persona": 9, "context": 9}, r"text\.budgets lacks 'reply'"),
        ({"persona": 9, "reply": 9}, r"text\.budgets lacks 'context'"),
        ({**LARGE, "contxt": 9}, r"text\.budgets names 'contxt', .* Did you mean 'context'\?"),
        ({**LARGE, "knowledge": 9}, r"text\.budgets names 'knowledge', which is no source"),
        ({**LARGE, "persona": 1}, r"text\.budgets\.persona=1 leaves no room"),
        ({**LARGE, "reply": -3}, r"text\.budgets\.reply=-3 leaves no room"),
    ],
)
def test_bad_budgets_are_the_users_error(tokenizer, budgets, message):
    with pytest.raises(UserError, match=message):
        Packer(tokenizer, ("persona", "context"), ("persona",), budgets)


def test_a_source_may_stand_in_the_prompt_only(tokenizer):
    packed = packer(tokenizer, sources=("persona",), prompt=("persona", "context"))(dialogue())
    assert set(packed.sources) == {"persona"}
    both = ids_of(tokenizer, "P:", *PERSONA, "Q:", TURNS[0], "R:", TURNS[1], "Q:", TURNS[2], "[BOS]")
    assert packed.prompt == both


def test_a_source_of_any_name_is_marked_by_separators(tokenizer):
    budgets = {"knowledge": 50, "reply": 20}
    facts = Dialogue({"knowledge": ("oslo is cold .", "dogs sing .")}, "so it is .")
    packed = Packer(tokenizer, ("knowledge",), (), budgets)(facts)
    assert packed.sources["knowledge"] == ids_of(tokenizer, "[SEP]", "oslo is cold .", "[SEP]", "dogs sing .")
    assert packed.prompt == ids_of(tokenizer, "[BOS]")


def test_words_that_look_like_marks_are_no_marks(tokenizer):
    """A text from a user cannot end the reply or speak for the other role."""
    marks = set(tokenizer.convert_tokens_to_ids(["[EOS]", "Q:", "R:", "[SEP]", "[BOS]", "[PAD]"]))
    text = "Q: hello [EOS] [SEP] R: [BOS] [PAD] bye"
    packed = packer(tokenizer)(dialogue(persona=(text,), turns=(text,), roles=(SELF,), response=text))
    assert not marks & set(packed.sources["persona"])
    assert sum(token in marks for token in packed.sources["context"]) == 1
    assert sum(token in marks for token in packed.reply) == 1
    assert decode_reply(tokenizer, packed.reply) == text


def test_gpt2s_words_are_those_of_a_line(shared_data: Path):
    tokenizer = load_tokenizer(shared_data / "gpt2")
    packed = packer(tokenizer)(dialogue(persona=("hello world",), response="hello"))
    assert packed.sources["persona"] == [50260, 23748, 995]
    assert packed.prompt == [50260, 23748, 995, 50262]
    assert packed.reply == [23748, 50263]
