"""Opening files: one line says what is wrong with one, and which reader it is for."""

from pathlib import Path

import pytest

from personae.data import Reader
from personae.data.files import HEAD_BYTES, first_line, guess_reader, read_head, read_text, require_format
from personae.errors import UserError


def write(folder: Path, content: bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(content)
    return path


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffa\x85b\u2028c\r\nd".encode())
    assert list(read_text(path)) == ["a\x85b\u2028c\r\n", "d"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"fine\n\x00\x01\n", r"is a binary file \(line 2\)"),
        (b"fine\nfine\n\xff\xfe\n", r"is not UTF-8 text \(line 3, byte 1\)"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        list(read_text(write(tmp_path, content)))


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, b"x")
    with pytest.raises(UserError, match=r"no such file: .*fil\.txt\. Did you mean 'file\.txt'\?"):
        list(read_text(tmp_path / "fil.txt"))


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no such file: .*file\.txt$"):
        read_head(tmp_path / "nowhere" / "file.txt")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a directory"):
        read_head(tmp_path)


def test_a_file_taken_for_a_directory(tmp_path: Path) -> None:
    path = write(tmp_path, b"x") / "more"
    with pytest.raises(UserError, match=r"cannot read .*: Not a directory"):
        read_head(path)


def test_a_head_may_end_inside_a_character(tmp_path: Path) -> None:
    path = write(tmp_path, b"x" + "é".encode() * HEAD_BYTES)
    assert read_head(path) == "x" + "é" * (HEAD_BYTES // 2 - 1)


def test_the_first_line_that_is_not_blank() -> None:
    assert first_line("\n \r\none\r\ntwo") == "one"
    assert first_line("\n") == ""


def test_no_reader_lists_all(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no reader recognises .*: name one of convai2, .*jsonl"):
        guess_reader(write(tmp_path, b"once upon a time\n"))


def test_several_readers_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, b"1 hello\thi\n")
    monkeypatch.setattr(Reader.get("jsonl"), "recognises", lambda path, head: True)
    with pytest.raises(UserError, match="several readers: name one of convai2, jsonl"):
        guess_reader(path)


def test_the_wrong_reader_names_the_right_one(tmp_path: Path) -> None:
    path = write(tmp_path, b"1 hello\thi\n")
    with pytest.raises(UserError, match="not for reader 'jsonl': it looks like 'convai2'"):
        require_format(Reader.get("jsonl"), path)
