"""The DailyDialog reader: one reply per line, conversations found again, and lines that are not."""

from pathlib import Path

import pytest

from personae.data import Reader
from personae.data.base import OnError
from personae.errors import UserError
from personae.text.dialogue import Dialogue

SAMPLE = (
    "Is this seat free ?\tPlease , sit down .\n"
    "Is this seat free ? __eou__ Please , sit down .\tThank you .\n"
    "Is this seat free ?\tNo , sorry .\n"
)


def read(folder: Path, text: str, on_error: OnError = "raise") -> tuple[list[Dialogue], list[str]]:
    path = folder / "dial.valid"
    path.write_text(text, encoding="utf-8", newline="")
    reader = Reader.build("dailydialog", on_error=on_error)
    return list(reader.read(path)), reader.skipped


def names(folder: Path, text: str) -> list[str]:
    return [dialogue.conversation.removeprefix("dial.valid:") for dialogue in read(folder, text)[0]]


def test_a_line_is_an_example_with_its_context(tmp_path: Path) -> None:
    first, second, _ = read(tmp_path, SAMPLE)[0]
    assert first.sources == {"context": ("Is this seat free ?",)}
    assert second.sources == {"context": ("Is this seat free ?", "Please , sit down .")}
    assert second.response == "Thank you ."
    assert second.roles == {"context": ("self", "partner")}


def test_a_line_that_goes_on_from_the_one_above_is_of_its_conversation(tmp_path: Path) -> None:
    assert names(tmp_path, SAMPLE) == ["1", "1", "3"]


def test_equal_first_turns_do_not_join_conversations(tmp_path: Path) -> None:
    assert names(tmp_path, "a\tb\na __eou__ c\td\na __eou__ c\td\n") == ["1", "2", "3"]


def test_a_conversation_may_lack_a_line(tmp_path: Path) -> None:
    assert names(tmp_path, "a\tb\na __eou__ b __eou__ c\td\n") == ["1", "1"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("no tab", "a tab between them"),
        ("a\tb\tc", "a tab between them"),
        ("a __eou__ \tb", "no blank text"),
        ("a\t ", "no blank text"),
    ],
)
def test_malformed_lines_are_named_or_left_out(tmp_path: Path, line: str, expected: str) -> None:
    with pytest.raises(UserError, match=rf"dial\.valid:4: expected .*{expected}"):
        read(tmp_path, f"{SAMPLE}{line}\n")
    dialogues, skipped = read(tmp_path, f"{SAMPLE}{line}\nx\ty\n", on_error="skip")
    assert len(dialogues) == 4
    assert len(skipped) == 1


def test_the_real_validation_file(shared_data: Path) -> None:
    path = shared_data / "dailydialog" / "dial.valid"
    dialogues = list(Reader.build("dailydialog").read(path))
    conversations = {dialogue.conversation for dialogue in dialogues}
    assert len(dialogues) == 7069
    assert len(conversations) == 1000
    # Every conversation is whole: its first line has one turn before the reply.
    assert sum(len(dialogue.sources["context"]) == 1 for dialogue in dialogues) == 1000
