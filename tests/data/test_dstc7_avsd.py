"""The DSTC7-AVSD reader: three fields, several answers, and lines that are not."""

from pathlib import Path

import pytest

from personae.data import Reader
from personae.data.base import OnError
from personae.data.dstc7_avsd import PERSONA
from personae.errors import UserError
from personae.text.dialogue import Dialogue

SAMPLE = (
    "a woman waters a fern __eou__ she hums\tis she alone ?\tyes , she is | nobody else is there\n"
    "a boy folds a map\twhat is he doing ? __eou__ folding a map . __eou__ and then ?\the leaves | he goes out\n"
)


def read(folder: Path, text: str, on_error: OnError = "raise") -> tuple[list[Dialogue], list[str]]:
    path = folder / "dial.test"
    path.write_text(text, encoding="utf-8", newline="")
    reader = Reader.build("dstc7-avsd", on_error=on_error)
    return list(reader.read(path)), reader.skipped


def test_a_line_is_an_example_of_three_sources(tmp_path: Path) -> None:
    first, second = read(tmp_path, SAMPLE)[0]
    assert first.sources == {
        "persona": PERSONA,
        "context": ("is she alone ?",),
        "knowledge": ("a woman waters a fern", "she hums"),
    }
    assert (first.response, first.references) == ("yes , she is", ("nobody else is there",))
    assert second.sources["context"] == ("what is he doing ?", "folding a map .", "and then ?")
    assert second.sources["persona"] == first.sources["persona"]


def test_speakers_alternate_back_from_the_question(tmp_path: Path) -> None:
    first, second = read(tmp_path, SAMPLE)[0]
    assert first.roles == {"context": ("partner",)}
    assert second.roles == {"context": ("partner", "self", "partner")}
    (even,), _ = read(tmp_path, "k\ta __eou__ b\tc\n")
    assert even.roles == {"context": ("self", "partner")}


def test_equal_knowledge_is_one_conversation_named_by_its_first_line(tmp_path: Path) -> None:
    dialogues, _ = read(tmp_path, "k\ta\tb\nm\ta\tb\nk\ta __eou__ b __eou__ c\td\n")
    assert [dialogue.conversation for dialogue in dialogues] == ["dial.test:1", "dial.test:2", "dial.test:1"]


def test_one_answer_is_no_further_reference(tmp_path: Path) -> None:
    (dialogue,), _ = read(tmp_path, "k __eou__ m\ta\tsole|answer\n")
    assert (dialogue.response, dialogue.references) == ("sole|answer", ())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("k\ta", "a tab between them"),
        ("k\ta\tb\tc", "a tab between them"),
        ("k\ta __eou__ \tb", "no blank text"),
        (" \ta\tb", "no blank text"),
        ("k\ta\tb |  | c", "no blank text"),
    ],
)
def test_malformed_lines_are_named_or_left_out(tmp_path: Path, line: str, expected: str) -> None:
    with pytest.raises(UserError, match=rf"dial\.test:3: expected .*{expected}"):
        read(tmp_path, f"{SAMPLE}{line}\n")
    dialogues, skipped = read(tmp_path, f"{SAMPLE}{line}\nk\ta\tb\n", on_error="skip")
    assert [dialogue.response for dialogue in dialogues] == ["yes , she is", "he leaves", "b"]
    assert len(skipped) == 1


def test_the_real_test_file(shared_data: Path) -> None:
    path = shared_data / "dstc7avsd" / "dial.test"
    dialogues = list(Reader.build("dstc7-avsd").read(path))
    assert len(dialogues) == 1710
    assert {len(dialogue.golds) for dialogue in dialogues} == {6}
    assert len({dialogue.conversation for dialogue in dialogues}) == 1710
    assert {len(dialogue.sources["context"]) % 2 for dialogue in dialogues} == {1}
    assert {dialogue.roles["context"][0] for dialogue in dialogues} == {"partner"}
