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


def types_of(tokenizer, *parts):
    """Types of rows given as (type, part of the row, ...)."""
    mark = tokenizer.get_vocab()
    return [mark[kind] for kind, *row in parts for _ in ids_of(tokenizer, *row)]


def typed(tokenizer, types, sources=("persona", "context"), prompt=("persona",), **options):
    return Packer(tokenizer, sources, prompt, LARGE, types, **options)(dialogue())


def test_without_types_there_are_none(tokenizer):
    packed = packer(tokenizer)(dialogue())
    assert packed.types is None
    assert packed.prompt_types is None


def test_types_of_sources(tokenizer):
    packed = typed(tokenizer, "sources")
    persona = types_of(tokenizer, ("P:", "P:", *PERSONA))
    turns = types_of(tokenizer, ("Q:", "Q:", TURNS[0]), ("R:", "R:", TURNS[1]), ("Q:", "Q:", TURNS[2]))
    assert packed.types == {"persona": persona, "context": turns}
    assert packed.prompt_types == [*persona, tokenizer.bos_token_id]


def test_types_of_speakers(tokenizer):
    """The persona is one's own, so is the reply."""
    packed = typed(tokenizer, "speakers", sources=(), prompt=("persona", "context"))
    persona = types_of(tokenizer, ("R:", "P:", *PERSONA))
    turns = types_of(tokenizer, ("Q:", "Q:", TURNS[0]), ("R:", "R:", TURNS[1]), ("Q:", "Q:", TURNS[2]))
    assert packed.types == {}
    assert packed.prompt_types == [*persona, *turns, tokenizer.get_vocab()["R:"]]


@pytest.mark.parametrize("types", ["sources", "speakers"])
def test_a_source_of_no_speaker_has_the_separators_type(tokenizer, types):
    facts = Dialogue({"knowledge": ("oslo is cold .",)}, "so it is .")
    packed = Packer(tokenizer, ("knowledge",), (), {"knowledge": 50, "reply": 20}, types)(facts)
    assert packed.types == {"knowledge": types_of(tokenizer, ("[SEP]", "[SEP]", "oslo is cold ."))}


@pytest.mark.parametrize("budget", range(2, 90, 5))
@pytest.mark.parametrize("marks", [True, False])
def test_every_token_has_one_type_and_one_text(tokenizer, budget, marks):
    sources, budgets = ("persona", "context", "persona+context"), {"persona": budget, "context": budget, "reply": 99}
    packed = Packer(tokenizer, sources, ("persona+context",), budgets, "speakers", marks)(dialogue())
    for name, row in packed.sources.items():
        assert len(packed.types[name]) == len(packed.items[name]) == len(row) > 0
    assert len(packed.prompt_types) == len(packed.prompt)


def test_without_marks_only_the_types_tell_who_spoke(tokenizer):
    packed = typed(tokenizer, "speakers", marks=False)
    assert packed.sources == {"persona": ids_of(tokenizer, *PERSONA), "context": ids_of(tokenizer, *TURNS)}
    turns = types_of(tokenizer, ("Q:", TURNS[0]), ("R:", TURNS[1]), ("Q:", TURNS[2]))
    assert packed.types == {"persona": types_of(tokenizer, ("R:", *PERSONA)), "context": turns}
    assert -1 not in packed.items["persona"] + packed.items["context"]
    assert packed.prompt == [*ids_of(tokenizer, *PERSONA), tokenizer.bos_token_id]


def test_only_so_many_turns_are_read_and_that_is_no_cut(tokenizer):
    made = Packer(tokenizer, ("persona", "context"), (), LARGE, "speakers", turns=2)
    packed = made(dialogue())
    assert packed.sources["context"] == ids_of(tokenizer, "R:", TURNS[1], "Q:", TURNS[2])
    assert packed.types["context"] == types_of(tokenizer, ("R:", "R:", TURNS[1]), ("Q:", "Q:", TURNS[2]))
    assert sorted(set(packed.items["context"])) == [-1, 1, 2]
    assert packed.sources["persona"] == ids_of(tokenizer, "P:", *PERSONA)
    assert made.cuts.as_dict() == {"dialogues": 1, "texts_cut": {}, "tokens_cut": {}}


def test_more_turns_than_there_are_is_all_of_them(tokenizer):
    many = Packer(tokenizer, ("context",), (), {"context": 200, "reply": 100}, turns=9)(dialogue())
    assert many.sources["context"] == packer(tokenizer)(dialogue()).sources["context"]


def test_a_cut_among_the_turns_that_are_read_is_counted(tokenizer):
    size = len(ids_of(tokenizer, "Q:", TURNS[2]))
    made = Packer(tokenizer, ("context",), (), {"context": size, "reply": 100}, turns=2)
    packed = made(dialogue())
    assert sorted(set(packed.items["context"])) == [-1, 2]
    assert made.cuts.texts == {"context": 1}
    assert made.cuts.tokens == {"context": len(ids_of(tokenizer, TURNS[1]))}


def test_a_row_that_would_be_empty_is_the_users_error(tokenizer):
    blank = dialogue(turns=("hello !", "hi .", " "))
    budgets = {"context": 50, "reply": 50}
    assert Packer(tokenizer, ("context",), (), budgets, turns=1)(blank).sources["context"]
    with pytest.raises(UserError, match="has no 'context'"):
        Packer(tokenizer, ("context",), (), budgets, "speakers", marks=False, turns=1)(blank)
    short = Packer(tokenizer, ("context",), (), {**budgets, "context": 2}, "speakers", marks=False, turns=2)(
        dialogue(turns=("hello !", "hi there .", " "))
    )
    assert short.sources["context"] == ids_of(tokenizer, "hi there .")[-2:]


def test_a_joint_source_is_one_row_of_both(tokenizer):
    packed = typed(tokenizer, "sources", sources=("persona+context",), prompt=())
    alone = typed(tokenizer, "sources")
    separator = tokenizer.get_vocab()["[SEP]"]
    row = [*alone.sources["persona"], separator, *alone.sources["context"]]
    assert packed.sources == {"persona+context": row}
    between = alone.types["context"][:1]
    assert packed.types == {"persona+context": alone.types["persona"] + between + alone.types["context"]}
    assert packed.items == {"persona+context": [*alone.items["persona"], -1, *alone.items["context"]]}
    assert packed.prompt == [tokenizer.bos_token_id]


def test_a_joint_row_without_marks_has_no_separator(tokenizer):
    packed = typed(tokenizer, "speakers", sources=("persona+context",), prompt=(), marks=False)
    assert packed.sources == {"persona+context": ids_of(tokenizer, *PERSONA, *TURNS)}


def test_the_parts_of_a_joint_source_keep_within_their_own_budgets(tokenizer):
    sizes = {"persona": len(ids_of(tokenizer, "P:", PERSONA[0])), "context": len(ids_of(tokenizer, "Q:", TURNS[2]))}
    made = Packer(tokenizer, ("persona+context",), ("persona",), {**sizes, "reply": 50})
    packed = made(dialogue())
    row = ids_of(tokenizer, "P:", PERSONA[0], "[SEP]", "Q:", TURNS[2])
    assert packed.sources == {"persona+context": row}
    assert made.cuts.texts == {"persona": 2, "context": 2}
    assert made.needed == {"persona", "context"}


def test_a_joint_source_without_one_of_its_parts_is_the_users_error(tokenizer):
    with pytest.raises(UserError, match="has no 'persona'"):
        Packer(tokenizer, ("persona+context",), (), LARGE)(dialogue(persona=()))
    with pytest.raises(UserError, match=r"text\.budgets lacks 'context'"):
        Packer(tokenizer, ("persona+context",), (), {"persona": 9, "reply": 9})


def test_unknown_types_are_the_users_error(tokenizer):
    with pytest.raises(UserError, match=r"text\.types='speaker'\. Did you mean 'speakers'\?"):
        Packer(tokenizer, ("persona", "context"), (), LARGE, "speaker")


def test_every_token_knows_its_source_and_text(tokenizer):
    made = Packer(tokenizer, ("persona+context",), ("context", "persona"), LARGE)
    packed = made(dialogue())
    names = [name for name, _ in packed.origins("persona+context")]
    assert names == sorted(names, reverse=True)
    for row, origins in (
        (packed.sources["persona+context"], packed.origins("persona+context")),
        (packed.prompt, packed.prompt_origins),
    ):
        for name, texts in (("persona", PERSONA), ("context", TURNS)):
            for at, text in enumerate(texts):
                words = [token for token, origin in zip(row, origins, strict=True) if origin == (name, at)]
                assert words == ids_of(tokenizer, text)
    assert packed.prompt_origins[-1] == ("reply", -1)
    between = [
        token
        for token, origin in zip(packed.sources["persona+context"], packed.origins("persona+context"), strict=True)
        if origin == ("context", -1)
    ]
    assert between == ids_of(tokenizer, "[SEP]", "Q:", "R:", "Q:")


LONG = Dialogue(
    sources={"persona": ("i bake .", "i sing ."), "context": ("one two three", "four five", "six seven eight")},
    roles={"context": ("partner", "self", "partner")},
    response="yes .",
)


@pytest.mark.parametrize("window", [500, 30, 12, 5])
@pytest.mark.parametrize("joint", [True, False])
def test_a_window_leaves_the_last_tokens_of_an_input_with_several_sources(tokenizer, window, joint):
    sources, prompt = (["persona+context"], []) if joint else ([], ["persona", "context"])
    budgets = {"persona": 200, "context": 200, "reply": 20}
    whole = Packer(tokenizer, sources, prompt, budgets).pack_sources(LONG)
    packer = Packer(tokenizer, sources, prompt, budgets, window=window)
    cut = packer.pack_sources(LONG)
    before = whole.sources["persona+context"] if joint else whole.prompt[:-1]
    after = cut.sources["persona+context"] if joint else cut.prompt[:-1]
    assert len(after) <= window
    assert after[-4:] == before[-4:]
    lost = sum(packer.cuts.tokens.values())
    assert len(before) - len(after) == lost
    if joint:
        assert cut.items["persona+context"][-4:] == whole.items["persona+context"][-4:]
    if lost:
        assert packer.cuts.tokens["persona"] > 0
    if window == 5:
        assert packer.cuts.texts["persona"] == 2
        assert packer.cuts.tokens["context"] > 0


def test_a_window_leaves_inputs_with_one_source_alone(tokenizer):
    budgets = {"persona": 200, "context": 200, "reply": 20}
    plain = Packer(tokenizer, ["context"], ["persona", "context"], budgets).pack_sources(LONG)
    cut = Packer(tokenizer, ["context"], ["persona", "context"], budgets, window=9).pack_sources(LONG)
    assert cut.sources == plain.sources
    assert cut.prompt == [*plain.prompt[-10:-1], plain.prompt[-1]]


@pytest.mark.parametrize(
    ("sources", "prompt", "window"), [(["persona"], ["context"], 9), ([], ["persona", "context"], 1)]
)
def test_a_window_that_nothing_shares_is_refused(tokenizer, sources, prompt, window):
    with pytest.raises(UserError, match=r"text\.window"):
        Packer(tokenizer, sources, prompt, {"persona": 20, "context": 20, "reply": 20}, window=window)
