"""Chat and Bot: streaming, what is encoded once, explanations, early stops, bad input."""

import copy
import threading

import pytest
import torch

from personae import Bot
from personae.chat import Chat, Turn
from personae.chat.choice import best, likelihoods, until
from personae.chat.streaming import ONE_AT_A_TIME, Pieces, Stop, my_turn
from personae.decoding import Decoding
from personae.errors import UserError
from personae.evidence import Piece, words
from personae.text.collate import Collator
from personae.text.tokenizer import decode_reply

PERSONA = ("i have a dog named rex .", "i am a baker .")
HELLO = "hi , do you have any pets ?"
SAMPLE = Decoding(sample=True, max_tokens=12)


@pytest.fixture(scope="module")
def loaded(tiny_run) -> Chat:
    return Chat.load(tiny_run)


@pytest.fixture
def chat(loaded) -> Chat:
    """A chat that remembers no persona yet."""
    fresh = copy.copy(loaded)
    fresh._encodings = type(loaded._encodings)()
    return fresh


@pytest.fixture
def bot(chat) -> Bot:
    return Bot(chat, PERSONA)


def worker() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "personae-reply"]


def joined(pieces) -> str:
    return "".join(piece.text for piece in pieces)


def count_encodings(chat, monkeypatch) -> list[str]:
    encoded: list[str] = []
    original = chat.model.encode_source

    def counted(name, batch):
        encoded.append(name)
        return original(name, batch)

    monkeypatch.setattr(chat.model, "encode_source", counted)
    return encoded


def test_the_pieces_of_a_stream_join_to_what_is_said(bot):
    said = bot.say(HELLO)
    bot.reset()
    assert joined(bot.stream(HELLO)) == said
    assert said


def test_a_greedy_reply_is_what_generate_makes_of_the_packed_batch(chat):
    packed = chat.packer.pack_sources(chat.dialogue(PERSONA, [Turn("partner", HELLO)]))
    inputs = Collator(int(chat.tokenizer.pad_token_id)).prompts([packed])
    ids = inputs.pop("input_ids")
    made = chat.model.generate(ids, **inputs, **chat._arguments(chat.decoding))
    expected = decode_reply(chat.tokenizer, made[0, ids.shape[1] :].tolist())
    assert joined(chat.reply(PERSONA, [Turn("partner", HELLO)])) == expected


def test_one_beam_of_several_equals_generate_and_comes_with_evidence(chat):
    decoding = Decoding(beams=3, max_tokens=6)
    history = [Turn("partner", HELLO)]
    pieces = list(chat.reply(PERSONA, history, decoding, explain=True))
    assert joined(pieces) == joined(chat.reply(PERSONA, history, decoding))
    assert all(sum(piece.evidence.shares.values()) == pytest.approx(1) for piece in pieces)


def test_beams_and_greedy_give_the_same_reply_the_same_evidence(chat, monkeypatch):
    history = [Turn("partner", HELLO)]
    greedy = list(chat.reply(PERSONA, history, explain=True))
    packed = chat.packer.pack_sources(chat.dialogue(PERSONA, history))
    inputs = Collator(int(chat.tokenizer.pad_token_id)).prompts([packed])
    ids = inputs.pop("input_ids")
    made = chat.model.generate(ids, **inputs, **chat._arguments(chat.decoding))
    monkeypatch.setattr(chat.model, "generate", lambda **_: made)
    searched = list(chat.reply(PERSONA, history, chat.decoding.but(beams=2), explain=True))
    assert [piece.text for piece in searched] == [piece.text for piece in greedy]
    for one, other in zip(searched, greedy, strict=True):
        assert one.evidence.shares == pytest.approx(other.evidence.shares, abs=1e-4)


def test_a_persona_is_encoded_once_per_session(bot, monkeypatch):
    encoded = count_encodings(bot.chat, monkeypatch)
    bot.say(HELLO)
    assert sorted(encoded) == ["context", "persona"]
    bot.say("what do you do ?")
    assert sorted(encoded) == ["context", "context", "persona"]
    bot.persona = ("i am a pilot .",)
    bot.say("and now ?")
    assert encoded.count("persona") == 2


def test_the_personas_remembered_are_few(chat, monkeypatch):
    chat.remembered = 2
    encoded = count_encodings(chat, monkeypatch)
    for name in ("a", "b", "a", "c", "a", "b"):
        list(chat.reply([f"i am {name} ."], [Turn("partner", HELLO)]))
    assert encoded.count("persona") == 4
    assert len(chat._encodings) == 2


def test_remembering_changes_no_reply(chat):
    first = joined(chat.reply(PERSONA, [Turn("partner", HELLO)]))
    assert joined(chat.reply(PERSONA, [Turn("partner", HELLO)])) == first
    assert joined(chat.reply(PERSONA, [Turn("partner", HELLO)], Decoding(beams=2, max_tokens=8))) is not None
    assert joined(chat.reply(PERSONA, [Turn("partner", HELLO)])) == first


def test_the_same_seed_gives_the_same_sample(chat):
    history = [Turn("partner", HELLO)]
    samples = [joined(chat.reply(PERSONA, history, SAMPLE, seed=seed)) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]


def test_a_seed_leaves_the_random_state_alone(chat):
    state = torch.random.get_rng_state()
    list(chat.reply(PERSONA, [Turn("partner", HELLO)], SAMPLE, seed=1))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_seeded_conversation_can_be_repeated(chat):
    bot = Bot(chat, PERSONA, SAMPLE, seed=5)
    first = [bot.say(HELLO), bot.say(HELLO)]
    bot.reset()
    assert [bot.say(HELLO), bot.say(HELLO)] == first


def test_history_has_roles_and_the_whole_of_it_is_the_context(bot):
    reply = bot.say(HELLO)
    assert bot.history == [Turn("partner", HELLO), Turn("self", reply)]
    dialogue = bot.chat.dialogue(bot.persona, [*bot.history, Turn("partner", "ok")])
    assert dialogue.sources == {"persona": PERSONA, "context": (HELLO, reply, "ok")}
    assert dialogue.roles == {"context": ("partner", "self", "partner")}


def test_a_long_history_is_cut_and_counted(bot):
    for _ in range(20):
        bot.history += [Turn("partner", HELLO), Turn("self", "i have a dog .")]
    bot.say(HELLO)
    assert bot.chat.packer.cuts.texts["context"] > 0


def test_explain_gives_every_word_its_shares(bot):
    explained = bot.explain(HELLO)
    assert [word.text for word in explained] == explained.reply.split()
    assert all(sum(word.shares.values()) == pytest.approx(1) for word in explained)
    assert all(set(word.shares) == {"persona", "context"} for word in explained)
    assert explained.as_dict()["words"][0]["text"] == explained.words[0].text
    lines = str(explained).splitlines()
    assert "persona" in lines[0]
    assert "%" in lines[0]
    assert bot.history[-1] == Turn("self", explained.reply)


def test_why_explains_what_was_said_as_it_was_said(bot):
    """A persona that was changed since is not what the reply rests on."""
    explained = bot.explain(HELLO)
    bot.persona = ("i am a pilot .",)
    again = bot.why()
    assert again == explained
    assert [text.text for text in again.texts] == [*PERSONA, HELLO]
    assert len(bot.history) == 2


def test_explained_words_have_the_shares_that_streaming_tells(bot):
    streamed = list(words(bot.stream(HELLO, explain=True)))
    for told, word in zip(streamed, bot.why(), strict=True):
        assert told.text.strip() == word.text
        assert told.evidence.shares == pytest.approx(word.shares, abs=1e-4)


def test_without_a_reply_there_is_nothing_to_ask_about(bot):
    with pytest.raises(UserError, match="no reply to explain yet"):
        bot.why()
    bot.history.append(Turn("partner", HELLO))
    with pytest.raises(UserError, match="no reply to explain yet"):
        bot.why()


def test_explaining_changes_no_reply(bot):
    said = bot.say(HELLO)
    bot.reset()
    assert bot.explain(HELLO).reply == said


def test_an_early_stop_leaves_no_thread_and_keeps_what_was_heard(bot):
    pieces = bot.stream(HELLO)
    first = next(pieces)
    pieces.close()
    assert worker() == []
    assert not ONE_AT_A_TIME.locked()
    assert bot.history == [Turn("partner", HELLO), Turn("self", first.text)]


def test_an_unread_stream_starts_no_thread(bot):
    bot.stream(HELLO)
    assert worker() == []


def test_what_fails_in_the_thread_is_raised_to_the_consumer(bot, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no memory")

    monkeypatch.setattr(bot.chat.model, "generate", fail)
    with pytest.raises(RuntimeError, match="no memory"):
        bot.say(HELLO)
    assert worker() == []
    assert bot.history == []


def test_replies_asked_for_at_once_are_made_one_after_another(chat):
    replies: dict[int, str] = {}

    def talk(seed: int) -> None:
        replies[seed] = joined(chat.reply(PERSONA, [Turn("partner", HELLO)], SAMPLE, seed=seed))

    threads = [threading.Thread(target=talk, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = {seed: joined(chat.reply(PERSONA, [Turn("partner", HELLO)], SAMPLE, seed=seed)) for seed in range(4)}
    assert replies == alone


def test_a_reply_that_waits_for_its_turn_can_be_stopped():
    stop = Stop()
    with ONE_AT_A_TIME:
        stop.set()
        with my_turn(stop) as mine:
            assert not mine
    with my_turn(Stop()) as mine:
        assert mine
        assert ONE_AT_A_TIME.locked()
    assert not ONE_AT_A_TIME.locked()


def test_a_character_of_several_tokens_is_one_piece(chat):
    told: list[Piece] = []
    pieces = Pieces(chat.tokenizer, told.append)
    for token in [*chat.packer.encode("größe 🐕 !"), int(chat.tokenizer.eos_token_id)]:
        pieces.add(token)
    pieces.end()
    assert joined(told) == "größe 🐕 !"
    assert not any("\ufffd" in piece.text for piece in told)


def test_half_a_character_at_the_end_is_told_too(chat):
    told: list[Piece] = []
    pieces = Pieces(chat.tokenizer, told.append)
    for token in chat.packer.encode("hi 🐕")[:-1]:
        pieces.add(token)
    pieces.end()
    assert joined(told).startswith("hi")
    assert joined(told).endswith("\ufffd")


@pytest.mark.parametrize("persona", [(), ("",), ("  ", "")])
def test_a_persona_of_zero_sentences_is_an_error(chat, persona):
    with pytest.raises(UserError, match="no sentence"):
        Bot(chat, persona)
    with pytest.raises(UserError, match="no sentence"):
        chat.reply(persona, [Turn("partner", HELLO)])


def test_a_persona_is_no_string(chat):
    with pytest.raises(UserError, match="list of sentences"):
        Bot(chat, "i have a dog .")


def test_a_persona_that_the_model_would_not_read_is_an_error(chat, monkeypatch):
    packer = copy.copy(chat.packer)
    packer.sources, packer.prompt = ("context",), ()
    monkeypatch.setattr(chat, "packer", packer)
    with pytest.raises(UserError, match="leave the persona out"):
        Bot(chat, PERSONA)
    assert Bot(chat).persona == ()


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_message_is_an_error_and_leaves_no_trace(bot, text):
    with pytest.raises(UserError, match="empty"):
        bot.say(text)
    assert bot.history == []


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([], "empty"),
        ([Turn("bot", "hi")], "role is 'partner' or 'self'"),
        ([Turn("self", "hi")], "last turn"),
        ([Turn("partner", ""), Turn("partner", "hi")], "empty"),
    ],
)
def test_a_history_that_cannot_be_answered_is_an_error(chat, history, message):
    with pytest.raises(UserError, match=message):
        chat.reply(PERSONA, history)


def test_settings_that_cannot_be_followed_are_errors(chat):
    history = [Turn("partner", HELLO)]
    with pytest.raises(UserError, match="copies"):
        chat.reply(PERSONA, history, Decoding(sample=True, copies=2))
    with pytest.raises(UserError, match="does not fit"):
        chat.reply(PERSONA, history, Decoding(max_tokens=10_000))


def test_the_longest_reply_that_fits_is_made(chat):
    history = [Turn("partner", HELLO)]
    packed = chat.packer.pack_sources(chat.dialogue(PERSONA, history))
    room = chat.model.window["decoder"] + 1 - len(packed.prompt)
    assert joined(chat.reply(PERSONA, history, Decoding(max_tokens=room)))


def test_loading_what_is_no_run_is_an_error(tmp_path):
    with pytest.raises(UserError, match="is no run"):
        Bot.load(tmp_path, persona=PERSONA)


def test_loading_a_run_takes_its_decoding(tiny_run):
    bot = Bot.load(tiny_run, persona=PERSONA)
    assert bot.chat.decoding.max_tokens == 8


def longest(persona, question, replies) -> list[int]:
    """A preference that can be checked by eye."""
    assert (tuple(persona), question) == (PERSONA, HELLO)
    return [len(reply) for reply in replies]


def test_of_several_replies_the_preferred_one_is_given(chat):
    several, heard = SAMPLE.but(copies=5), []

    def prefer(persona, question, replies):
        heard.extend(replies)
        return longest(persona, question, replies)

    said = joined(chat.reply(PERSONA, [Turn("partner", HELLO)], several, seed=3, prefer=prefer))
    assert len(heard) == 5
    assert len(set(heard)) > 1
    assert said == max(heard, key=len)


def test_equal_replies_are_told_apart_by_likelihood(chat):
    heard: list[str] = []

    def prefer(_, __, replies):
        heard.extend(replies)
        return [0] * len(replies)

    history = [Turn("partner", HELLO)]
    said = joined(chat.reply(PERSONA, history, SAMPLE.but(copies=5), seed=3, prefer=prefer))
    packed = chat.packer.pack_sources(chat.dialogue(PERSONA, history))
    rows = [[*chat.packer.encode(reply), int(chat.tokenizer.eos_token_id)] for reply in dict.fromkeys(heard)]
    single = [likelihoods(chat.model, chat.collate, packed, [row], int(chat.tokenizer.eos_token_id))[0] for row in rows]
    together = likelihoods(chat.model, chat.collate, packed, rows, int(chat.tokenizer.eos_token_id))
    assert together == pytest.approx(single, rel=1e-4)
    assert said in heard
    assert best([0, 0, 0], [-2.0, -1.0, -1.0]) == 1
    assert best([0, 1, 1], [-1.0, -3.0, -2.0]) == 2
    assert (until([4, 5, 9, 9], 9), until([4, 5], 9)) == ([4, 5, 9], [4, 5])


def test_a_chosen_reply_comes_with_its_evidence(chat):
    decoding = SAMPLE.but(copies=3)
    pieces = list(chat.reply(PERSONA, [Turn("partner", HELLO)], decoding, True, 1, longest))
    assert joined(pieces) == joined(chat.reply(PERSONA, [Turn("partner", HELLO)], decoding, False, 1, longest))
    assert all(sum(piece.evidence.shares.values()) == pytest.approx(1) for piece in pieces)


def test_one_reply_leaves_nothing_to_choose(chat):
    with pytest.raises(UserError, match=r"decoding\.copies=5"):
        chat.reply(PERSONA, [Turn("partner", HELLO)], SAMPLE, prefer=longest)
    with pytest.raises(UserError, match=r"decoding\.copies=1"):
        chat.reply(PERSONA, [Turn("partner", HELLO)], SAMPLE.but(copies=2))


def test_a_bot_prefers_too(chat):
    reply = (several := Bot(chat, PERSONA, SAMPLE.but(copies=4), seed=3, prefer=longest)).say(HELLO)
    assert reply == joined(chat.reply(PERSONA, [Turn("partner", HELLO)], several.decoding, seed=3, prefer=longest))
    assert several.history[-1] == Turn("self", reply)
