"""Texts brought to the spelling of another corpus."""

import pytest

from personae.errors import UserError
from personae.text.dialogue import Dialogue
from personae.text.style import convai2, restyle


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("I have a dog.", "i have a dog ."),
        ("Hi!  How are you?\nFine, thanks...", "hi ! how are you ? fine , thanks . . ."),
        ("i'm good , and you ?", "i'm good , and you ?"),
        ("", ""),
    ],
)
def test_convai2(given, expected):
    assert convai2(given) == expected
    assert convai2(expected) == expected


def test_every_text_of_a_dialogue_changes_and_nothing_else():
    dialogue = Dialogue(
        sources={"persona": ("I bake.",), "context": ("Hi!",)},
        roles={"context": ("partner",)},
        response="Hello.",
        references=("Hey.",),
        distractors=("No.",),
        conversation="A",
    )
    changed = restyle(dialogue, "convai2")
    assert changed.sources == {"persona": ("i bake .",), "context": ("hi !",)}
    assert (changed.response, changed.references, changed.distractors) == ("hello .", ("hey .",), ("no .",))
    assert (changed.roles, changed.conversation) == (dialogue.roles, "A")


def test_as_read_is_as_read_and_an_unknown_style_an_error():
    dialogue = Dialogue(sources={}, response="Hello.")
    assert restyle(dialogue, "as_read") is dialogue
    with pytest.raises(UserError, match="Did you mean 'convai2'"):
        restyle(dialogue, "convai")
