"""The data report: every count by hand, and the real files."""

import json
from pathlib import Path

import pytest

from personae.data.check import Spread, check
from personae.errors import UserError

TALKS = (
    "1 your persona: i mend clocks .\n"
    "2 your persona: i've two owls .\n"
    "3 what do you do ?\tmend clocks\t\tno|mend clocks\n"
    "4 any pets ?\ttwo owls and a very old dog\n"
    "1 your persona: i row .\n"
    "2 hello\thi\n"
    "1 your persona: i row .\n"
    "2 hello\thi\n"
    "3 \tbye\n"
)
# The first persona in another order, case and spacing.
OTHERS = '{"persona": ["I\'ve two owls", "I mend clocks."], "turns": [%s]}\n{"persona": ["i knit ."], "turns": [%s]}\n'
PAIR = '{"role": "partner", "text": "a"}, {"role": "self", "text": "b"}'


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "talks.txt"
    path.write_text(TALKS, encoding="utf-8")
    return path


@pytest.fixture
def others(tmp_path: Path) -> Path:
    path = tmp_path / "others.jsonl"
    path.write_text(OTHERS % (PAIR, f"{PAIR}, {PAIR}"), encoding="utf-8")
    return path


def test_every_count(talks: Path) -> None:
    (report,) = check([talks]).files
    assert (report.path, report.reader) == (str(talks), "convai2")
    assert (report.conversations, report.examples, report.persona_sets) == (3, 5, 2)
    assert report.sources["persona"].texts == Spread(7 / 5, 1.0, 2)
    assert report.sources["persona"].words == Spread((8 + 8 + 3 + 3 + 3) / 5, 3.0, 8)
    assert report.sources["context"].texts == Spread((1 + 3 + 1 + 1 + 3) / 5, 1.0, 3)
    assert report.sources["context"].words == Spread((5 + 10 + 1 + 1 + 2) / 5, 2.0, 10)
    assert report.reply_words == Spread((2 + 7 + 1 + 1 + 1) / 5, 1.0, 7)
    assert (report.with_candidates, report.duplicates, report.empty_turns) == (1 / 5, 1, 1)
    assert report.skipped == ()


def test_overlap_is_of_the_second_file(talks: Path, others: Path) -> None:
    (there,) = check([talks, others]).overlaps
    assert (there.first, there.second) == (str(talks), str(others))
    assert (there.persona_sets, there.examples_share) == (1, 1 / 3)
    assert (there.sentences, there.sentences_share) == (2, 2 / 3)
    (back,) = check([others, talks]).overlaps
    assert (back.persona_sets, back.examples_share) == (1, 2 / 5)


def test_no_persona_is_not_shared(tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    path.write_text("1 hello\thi\n", encoding="utf-8")
    (overlap,) = check([path, path]).overlaps
    assert (overlap.persona_sets, overlap.examples_share, overlap.sentences_share) == (0, 0.0, 0.0)


def test_the_report_is_json(talks: Path, others: Path) -> None:
    report = json.loads(json.dumps(check([talks, others]).as_dict()))
    assert report["files"][0]["sources"]["persona"]["texts"]["maximum"] == 2
    assert report["overlaps"][0]["persona_sets"] == 1


def test_skipped_lines_are_in_the_report(talks: Path) -> None:
    with talks.open("a", encoding="utf-8") as file:
        file.write("lost line\n")
    with pytest.raises(UserError, match=r"talks\.txt:10: expected"):
        check([talks])
    (report,) = check([talks], on_error="skip").files
    assert len(report.skipped) == 1
    assert report.examples == 5


def test_a_named_reader_is_used(talks: Path) -> None:
    with pytest.raises(UserError, match="not for reader 'jsonl': it looks like 'convai2'"):
        check([talks], reader="jsonl")
    with pytest.raises(UserError, match=r"unknown reader 'convai'\. Did you mean 'convai2'\?"):
        check([talks], reader="convai")


def test_a_file_without_an_example(tmp_path: Path) -> None:
    path = tmp_path / "talks.txt"
    path.write_text("1 your persona: i row .\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"holds no example: 1 left out, first .*talks\.txt:1: expected"):
        check([path], on_error="skip")


def test_no_file() -> None:
    with pytest.raises(UserError, match="no file to check"):
        check([])


def test_the_real_files(shared_data: Path) -> None:
    convai2 = shared_data / "convai2" / "valid_self_original.txt"
    synthetic = shared_data / "synthetic-persona-chat" / "Synthetic-Persona-Chat_valid.csv"
    report = check([synthetic, convai2])
    first, second = report.files
    assert (first.reader, second.reader) == ("synthetic-persona-chat", "convai2")
    assert (first.examples, first.persona_sets, first.duplicates, first.empty_turns) == (26_777, 541, 0, 0)
    assert (second.examples, second.persona_sets, second.duplicates, second.empty_turns) == (7801, 680, 0, 0)
    assert (first.with_candidates, second.with_candidates) == (0.0, 1.0)
    # The two validation splits share personas, so neither is unseen to who trained on the other.
    (overlap,) = report.overlaps
    assert (overlap.persona_sets, overlap.sentences) == (230, 492)
    assert overlap.examples_share == pytest.approx(0.3778, abs=1e-4)
