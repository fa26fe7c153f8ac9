"""The ConvAI2 reader: every variant of the format, and what it says of lines that are not."""

from pathlib import Path

import pytest

from personae.data import Reader
from personae.data.base import OnError
from personae.errors import UserError
from personae.text.dialogue import Dialogue

SAMPLE = (
    "1 your persona: i mend clocks .\n"
    "2 your persona: i've two owls .\n"
    "3 what do you do ?\ti mend clocks all day .\t\tno idea|go away|i mend clocks all day .\n"
    "4 any pets ?\ttwo owls !\t\ttwo owls !|a cat|two owls !\n"
    "1 your persona: i mend clocks .\n"
    "2 your persona: i've two owls .\n"
    "3 hello\thi there\t\tbye|hi there\n"
)


def read(folder: Path, text: str, on_error: OnError = "raise") -> tuple[list[Dialogue], list[str]]:
    path = folder / "talk.txt"
    path.write_text(text, encoding="utf-8", newline="")
    reader = Reader.build("convai2", on_error=on_error)
    return list(reader.read(path)), reader.skipped


def test_every_turn_is_an_example_with_all_before_it(tmp_path: Path) -> None:
    first, second, third = read(tmp_path, SAMPLE)[0]
    assert first.sources == {
        "persona": ("i mend clocks .", "i've two owls ."),
        "context": ("what do you do ?",),
    }
    assert first.response == "i mend clocks all day ."
    assert first.distractors == ("no idea", "go away")
    assert second.sources["context"] == ("what do you do ?", "i mend clocks all day .", "any pets ?")
    assert second.roles == {"context": ("partner", "self", "partner")}
    assert third.sources["context"] == ("hello",)


def test_equal_personas_are_not_merged(tmp_path: Path) -> None:
    names = [dialogue.conversation for dialogue in read(tmp_path, SAMPLE)[0]]
    assert names == ["talk.txt:1", "talk.txt:1", "talk.txt:5"]


def test_only_the_last_of_equal_candidates_is_the_gold(tmp_path: Path) -> None:
    assert read(tmp_path, SAMPLE)[0][1].distractors == ("two owls !", "a cat")


def test_without_persona(tmp_path: Path) -> None:
    (dialogue,), _ = read(tmp_path, "1 hello\thi\t\tbye|hi\n")
    assert dialogue.sources == {"persona": (), "context": ("hello",)}


@pytest.mark.parametrize("rest", ["", "\t", "\t\t"])
def test_without_candidates(tmp_path: Path, rest: str) -> None:
    (dialogue,), _ = read(tmp_path, f"1 your persona: i row .\n2 hello\thi{rest}\n")
    assert (dialogue.response, dialogue.distractors) == ("hi", ())


def test_both_personas(tmp_path: Path) -> None:
    text = "1 your persona: i row .\n2 partner's persona: i knit .\n3 hello\thi\n"
    first, second = read(tmp_path, text + "1 your persona: i sew .\n2 a\tb\n")[0]
    assert first.sources["persona"] == ("i row .",)
    assert first.sources["partner_persona"] == ("i knit .",)
    assert second.sources["partner_persona"] == ()


def test_partner_persona_alone(tmp_path: Path) -> None:
    (dialogue,), _ = read(tmp_path, "1 partner's persona: i knit .\n2 hello\thi\n")
    assert dialogue.sources["persona"] == ()
    assert dialogue.sources["partner_persona"] == ("i knit .",)


def test_texts_are_as_read(tmp_path: Path) -> None:
    text = "\ufeff1 your persona:  Two  blanks\u2028and a line separator \r\n2  Hé ?\t ça va \r\n"
    (dialogue,), _ = read(tmp_path, text)
    assert dialogue.sources["persona"] == (" Two  blanks\u2028and a line separator ",)
    assert dialogue.sources["context"] == (" Hé ?",)
    assert dialogue.response == " ça va "


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("hello there\n", 1, "number 1"),
        ("2 hello\thi\n", 1, "number 1"),
        ("1 your persona: i row .\nhello\thi\n", 2, "number 2"),
        ("1 hello\thi\n3 again\tyes\n", 2, "number 2"),
        ("1 your persona: i row .\n2 hello hi\n", 2, "a tab between"),
        ("1 a\tb\t\tb\tmore\n", 1, "a tab between"),
        ("1 hello\thi\n2 your persona: i row .\n", 2, "before the first utterance"),
        ("1 hello\thi\t\tbye|no\n", 1, "one of its candidates"),
        ("1 your persona: i row .\n1 hello\thi\n", 1, "an utterance"),
        ("1 hello\thi\n1 your persona: i row .\n", 2, "an utterance"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, text: str, line: int, expected: str) -> None:
    with pytest.raises(UserError, match=rf"talk\.txt:{line}: expected .*{expected}"):
        read(tmp_path, text)


def test_skip_leaves_the_dialogue_out_from_the_malformed_line_on(tmp_path: Path) -> None:
    text = "1 a\tb\n2 no tab\n3 c\td\nnothing\n1 e\tf\n"
    dialogues, skipped = read(tmp_path, text, on_error="skip")
    assert [dialogue.response for dialogue in dialogues] == ["b", "f"]
    assert len(skipped) == 1
    assert "talk.txt:2" in skipped[0]


def test_skip_leaves_a_headless_dialogue_out(tmp_path: Path) -> None:
    dialogues, skipped = read(tmp_path, "4 a\tb\n5 c\td\n1 e\tf\n", on_error="skip")
    assert [dialogue.response for dialogue in dialogues] == ["f"]
    assert len(skipped) == 1


def test_skip_keeps_a_turn_with_bad_candidates_as_context(tmp_path: Path) -> None:
    dialogues, skipped = read(tmp_path, "1 a\tb\t\tx|y\n2 c\td\t\tx|d\n", on_error="skip")
    assert [dialogue.sources["context"] for dialogue in dialogues] == [("a", "b", "c")]
    assert len(skipped) == 1


def test_the_real_validation_file(shared_data: Path) -> None:
    path = shared_data / "convai2" / "valid_self_original.txt"
    dialogues = list(Reader.build("convai2").read(path))
    personas = {dialogue.conversation: dialogue.sources["persona"] for dialogue in dialogues}
    assert len(dialogues) == 7801
    assert len(personas) == 1000
    assert sum(map(len, personas.values())) == 4483
    assert {len(dialogue.distractors) for dialogue in dialogues} == {19}
    assert {tuple(dialogue.sources) for dialogue in dialogues} == {("persona", "context")}
    assert sum(len(dialogue.response.split()) for dialogue in dialogues) == 92_586


def test_the_real_training_sample(shared_data: Path) -> None:
    path = shared_data / "convai2" / "train_self_original.sample.txt"
    dialogues = list(Reader.build("convai2").read(path))
    assert len(dialogues) == 524
    assert len({dialogue.conversation for dialogue in dialogues}) == 67
