"""The competition's dictionary."""

from pathlib import Path

import pytest

from personae.data import Reader
from personae.data.dictionary import build_dictionary, dictionary_hash, read_dictionary, split_words, write_dictionary
from personae.errors import UserError


def test_words_are_cut_as_in_the_competition() -> None:
    assert split_words("Hi,there!I don't know...") == ["hi", ",", "there", "!", "i", "don't", "know", ".", ".", "."]
    assert split_words("a-b (c) 'd'") == ["a-b", "(c)", "'d'"]


def test_replies_of_convai2_have_so_many_words(shared_data: Path) -> None:
    read = Reader.build("convai2").read(shared_data / "convai2" / "valid_self_original.txt")
    assert sum(len(split_words(dialogue.response)) for dialogue in read) == 92_586


def test_persona_texts_and_replies_without_candidates(tmp_path: Path) -> None:
    data = tmp_path / "talk.txt"
    data.write_text("1 your persona: I bake.\n2 hi\tfine .\t\tno way|fine .\n")
    assert build_dictionary([data]) == [".", ":", "bake", "fine", "hi", "i", "persona", "your"]


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    write_dictionary(path, ["i", ".", "bake"])
    assert read_dictionary(path) == ["i", ".", "bake"]
    assert dictionary_hash(["i", "bake"]) == dictionary_hash(["bake", "i"]) != dictionary_hash(["i"])


def test_counts_behind_a_tab_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("i\t123\nbake\t2\n")
    assert read_dictionary(path) == ["i", "bake"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is empty"), ("two words\n", ":1: expected one word"), ("i\nI\n", ":2: expected one"), ("i\ni\n", "line 1")],
)
def test_what_is_no_dictionary(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        read_dictionary(path)
