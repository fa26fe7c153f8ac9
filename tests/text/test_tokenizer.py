import shutil
from pathlib import Path

import pytest

from personae.errors import UserError
from personae.text.tokenizer import SPECIAL_TOKENS, decode_reply, load_tokenizer, train_tokenizer

TEXTS = ["i have two dogs .", "what do you do for a living ?", "i am a nurse in oslo ."]
STRANGE = "naïve — 猫 and emoji 🦊\tok"


@pytest.fixture(scope="module")
def gpt2(shared_data: Path):
    return load_tokenizer(shared_data / "gpt2")


@pytest.fixture(scope="module")
def trained():
    return train_tokenizer(TEXTS, 300)


def test_special_tokens_follow_gpt2s_in_the_published_order(gpt2):
    assert SPECIAL_TOKENS == ("[SEP]", "Q:", "R:", "P:", "[CLS]", "[BOS]", "[EOS]", "[PAD]")
    assert gpt2.convert_tokens_to_ids(list(SPECIAL_TOKENS)) == list(range(50257, 50265))
    assert len(gpt2) == 50265
    assert (gpt2.bos_token_id, gpt2.eos_token_id, gpt2.pad_token_id) == (50262, 50263, 50264)


def test_gpt2s_own_ids_are_kept(gpt2):
    """Ids of the released vocabulary: ' hello' 23748, ' world' 995, '<|endoftext|>' 50256."""
    assert gpt2(" hello world", add_special_tokens=False)["input_ids"] == [23748, 995]
    assert gpt2.convert_tokens_to_ids("<|endoftext|>") == 50256


def test_a_trained_vocabulary_holds_special_tokens_and_no_more_than_asked(trained):
    assert 264 < len(trained) <= 300
    ids = trained.convert_tokens_to_ids(list(SPECIAL_TOKENS))
    assert ids == list(range(len(trained) - 8, len(trained)))


@pytest.mark.parametrize("kind", ["gpt2", "trained"])
def test_any_text_comes_back(kind, request):
    tokenizer = request.getfixturevalue(kind)
    for text in (*TEXTS, STRANGE):
        ids = tokenizer(f" {text}", add_special_tokens=False)["input_ids"]
        assert decode_reply(tokenizer, ids) == text
        assert decode_reply(tokenizer, [*ids, tokenizer.eos_token_id, *ids]) == text
        assert decode_reply(tokenizer, [tokenizer.bos_token_id, *ids, tokenizer.pad_token_id]) == text


def test_saving_and_loading_changes_nothing(trained, tmp_path):
    trained.save_pretrained(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.get_vocab() == trained.get_vocab()
    for text in (*TEXTS, STRANGE, "[SEP] Q: words R: more [EOS]"):
        assert loaded(text)["input_ids"] == trained(text)["input_ids"]
    assert loaded.padding_side == trained.padding_side == "left"


def test_training_is_deterministic():
    assert train_tokenizer(TEXTS, 300).get_vocab() == train_tokenizer(TEXTS, 300).get_vocab()


def test_a_vocabulary_that_is_too_small_is_the_users_error():
    with pytest.raises(UserError, match=r"text\.vocabulary=100 is too small.* 264"):
        train_tokenizer(TEXTS, 100)


def test_a_folder_without_a_tokenizer_is_the_users_error(tmp_path):
    with pytest.raises(UserError, match=r"no tokenizer in '.*'"):
        load_tokenizer(tmp_path)
    with pytest.raises(UserError, match=r"no tokenizer in '.*nowhere'"):
        load_tokenizer(tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\x00\xff"])
def test_a_damaged_tokenizer_is_the_users_error(content, trained, tmp_path):
    trained.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(UserError, match=r"no tokenizer in '.*'"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_damaged_gpt2_files_are_the_users_error(name, shared_data, tmp_path):
    for each in ("vocab.json", "merges.txt"):
        shutil.copy(shared_data / "gpt2" / each, tmp_path)
        (tmp_path / each).chmod(0o644)
    (tmp_path / name).write_bytes(b"\x00\xff{")
    with pytest.raises(UserError, match=r"no tokenizer in '.*'"):
        load_tokenizer(tmp_path)
