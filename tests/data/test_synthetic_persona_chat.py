"""The Synthetic-Persona-Chat reader: both sides of a row, and lines that are no dialogue."""

import csv
from pathlib import Path

import pytest

from personae.data import Reader
from personae.data.base import OnError
from personae.errors import UserError
from personae.text.dialogue import Dialogue

HEADER = "user 1 personas,user 2 personas,Best Generated Conversation\r\n"
SAMPLE = HEADER + '"I row.\nI bake.","I knit.","User 1: Hello!\nUser 2: Hi, do you row?\nUser 1: Daily."\r\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "talks.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(folder: Path, text: str, on_error: OnError = "raise") -> tuple[list[Dialogue], list[str]]:
    reader = Reader.build("synthetic-persona-chat", on_error=on_error)
    return list(reader.read(write(folder, text))), reader.skipped


def row(conversation: str) -> str:
    quoted = conversation.replace('"', '""')
    return f'I row.,I knit.,"{quoted}"\r\n'


def said(folder: Path, conversation: str) -> list[tuple[str, ...]]:
    """Everything said in a conversation, per example."""
    dialogues, _ = read(folder, HEADER + row(conversation))
    return [(*dialogue.sources["context"], dialogue.response) for dialogue in dialogues]


def test_a_conversation_is_read_from_both_sides(tmp_path: Path) -> None:
    two, one = read(tmp_path, SAMPLE)[0]
    assert two.sources == {"persona": ("I knit.",), "context": ("Hello!",)}
    assert (two.response, two.roles) == ("Hi, do you row?", {"context": ("partner",)})
    assert one.sources == {"persona": ("I row.", "I bake."), "context": ("Hello!", "Hi, do you row?")}
    assert (one.response, one.roles) == ("Daily.", {"context": ("self", "partner")})


def test_both_sides_are_one_conversation_named_by_its_first_line(tmp_path: Path) -> None:
    text = SAMPLE + row("User 1: a\nUser 2: b\nUser 1: c")
    names = [dialogue.conversation for dialogue in read(tmp_path, text)[0]]
    assert names == ["talks.csv:2"] * 2 + ["talks.csv:6"] * 2


def test_two_utterances_of_one_user(tmp_path: Path) -> None:
    dialogues, _ = read(tmp_path, HEADER + row("User 1: a\nUser 1: b\nUser 2: c"))
    assert [dialogue.roles["context"] for dialogue in dialogues] == [("self",), ("partner", "partner")]


def test_markup_of_labels_is_left_out(tmp_path: Path) -> None:
    expected = [("Hi *you*", "Hello")]
    assert said(tmp_path, "*User 1:* Hi *you*\n\n*User 2:* Hello") == expected
    assert said(tmp_path, "**User 1:** Hi *you*\n**User 2:** Hello") == expected
    assert said(tmp_path, "* User 1: Hi *you* *\n* User 2: Hello *") == expected


def test_an_utterance_of_several_lines(tmp_path: Path) -> None:
    text = "User 1: A recipe:\n\n1 egg\n2 pans\n\nUser 2: Thanks\n\n"
    assert said(tmp_path, text) == [("A recipe:\n\n1 egg\n2 pans", "Thanks")]


def test_separators_belong_to_no_utterance(tmp_path: Path) -> None:
    assert said(tmp_path, "* * *\nUser 1: a\n* * *\n---\nUser 2: b") == [("a", "b")]


@pytest.mark.parametrize("line", ["[Later]", "(They row.)", "*At the lake*", "[They row."])
def test_stage_directions_are_left_out_and_listed(tmp_path: Path, line: str) -> None:
    dialogues, skipped = read(tmp_path, HEADER + row(f"User 1: a\n{line}\nUser 2: b"))
    assert [(dialogue.sources["context"], dialogue.response) for dialogue in dialogues] == [(("a",), "b")]
    assert len(skipped) == 1
    assert skipped[0].endswith(line)


def test_text_before_the_first_label_is_left_out_and_listed(tmp_path: Path) -> None:
    dialogues, skipped = read(tmp_path, HEADER + row("Who is this?\nUser 2: a\nUser 1: b"))
    assert [(dialogue.sources["context"], dialogue.response) for dialogue in dialogues] == [(("a",), "b")]
    assert "Who is this?" in skipped[0]


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    header = "n,Best Generated Conversation,user 2 personas,user 1 personas\n"
    (dialogue,), _ = read(tmp_path, header + '7,"User 1: a\nUser 2: b",I knit.,I row.\n')
    assert dialogue.sources["persona"] == ("I knit.",)


@pytest.mark.parametrize(
    ("rows", "line", "expected"),
    [
        ("I row.,I knit.\n", 2, "not 2 cells"),
        (row("just text\nand more"), 2, "User 1:"),
        (row("User 1: alone"), 2, "User 1:"),
        ('"",I knit.,"User 1: a\nUser 2: b"\n', 2, "persona sentences"),
        (row("User 1: a\nUser 2: b") + 'I row.,"I knit.,', 4, "a row of CSV"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, rows: str, line: int, expected: str) -> None:
    with pytest.raises(UserError, match=rf"talks\.csv:{line}: expected .*{expected}"):
        read(tmp_path, HEADER + rows)


def test_skip_leaves_a_malformed_row_out(tmp_path: Path) -> None:
    rows = row("User 1: a") + row("User 1: b\nUser 2: c") + 'x,"y"z,w\n' + row("User 1: d\nUser 2: e")
    dialogues, skipped = read(tmp_path, HEADER + rows, on_error="skip")
    assert [dialogue.response for dialogue in dialogues] == ["c", "e"]
    assert len(skipped) == 2


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected the column 'user 2 personas'; there are: user 1 personas"):
        read(tmp_path, "user 1 personas,Best Generated Conversation\na,b\n")


def test_a_header_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no conversation"):
        read(tmp_path, HEADER)


def test_the_real_validation_file(shared_data: Path) -> None:
    path = shared_data / "synthetic-persona-chat" / "Synthetic-Persona-Chat_valid.csv"
    reader = Reader.build("synthetic-persona-chat")
    dialogues = list(reader.read(path))
    conversations = {dialogue.conversation for dialogue in dialogues}
    assert len(conversations) == 1000
    # One utterance of each conversation has nothing before it and is no example.
    assert len(dialogues) + len(conversations) == 27_777
    assert len(reader.skipped) == 46
    assert not any(dialogue.response.startswith(("User", "*")) for dialogue in dialogues)


def test_the_published_size_counts_lines(shared_data: Path) -> None:
    """28,749 is the number of lines in the conversation column, blank and unspoken ones among them."""
    path = shared_data / "synthetic-persona-chat" / "Synthetic-Persona-Chat_valid.csv"
    with path.open(newline="", encoding="utf-8") as file:
        cells = [row["Best Generated Conversation"] for row in csv.DictReader(file)]
    lines = [line for cell in cells for line in cell.split("\n")]
    assert len(lines) == 28_749
    assert sum(not line.strip() for line in lines) == 877
