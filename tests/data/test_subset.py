"""Shares of the training data: every registered choice, then each by what its name says."""

import pytest

from personae.data.load import Loaded
from personae.data.subset import Subset
from personae.errors import UserError
from personae.text.dialogue import Dialogue


def loaded(conversations: int = 20, turns: int = 5) -> Loaded:
    """Conversations whose context grows by a turn each; those with a higher number have longer turns."""
    return Loaded(
        [
            Dialogue({"context": ("x" * (number + 1),) * turn}, f"reply {turn}", conversation=f"talk {number}")
            for number in range(conversations)
            for turn in range(1, turns + 1)
        ],
        "0" * 64,
        ["line 3"],
    )


@pytest.mark.parametrize("name", Subset.names())
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
def test_a_share_is_as_large_as_asked_and_in_file_order(name, fraction):
    data = loaded()
    part = Subset.build(name).choose(data, fraction, 3)
    assert len(part.dialogues) == pytest.approx(fraction * len(data.dialogues), abs=5)
    at = [data.dialogues.index(each) for each in part.dialogues]
    assert at == sorted(set(at))
    assert part.dialogues == Subset.build(name).choose(data, fraction, 3).dialogues
    assert (part.sha256, part.skipped) == (data.sha256, data.skipped)
    assert Subset.get(name).drawn


def test_random_takes_whole_conversations_by_seed():
    data = loaded()
    names = [Subset.build("random").choose(data, 0.25, seed).conversations for seed in (0, 0, 1)]
    assert [len(each) for each in names] == [5, 5, 5]
    assert names[0] == names[1] != names[2]
    part = Subset.build("random").choose(data, 0.25, 0)
    assert len(part.dialogues) == 25


def test_a_smaller_random_share_is_part_of_a_larger():
    few, more = (set(Subset.build("random").choose(loaded(), share, 7).conversations) for share in (0.1, 0.3))
    assert len(few) < len(more)
    assert few < more


def test_one_conversation_has_no_random_share():
    with pytest.raises(UserError, match="only one"):
        Subset.build("random").choose(loaded(1), 0.5, 0)


def test_the_longest_contexts_by_hand():
    """Twenty contexts, of which the fifth part has 24, 19, 19 and 15 characters: turns and the blanks between."""
    data = loaded(4)
    part = Subset.build("longest-contexts").choose(data, 0.2, 0)
    assert [(each.conversation, len(each.sources["context"])) for each in part.dialogues] == [
        ("talk 2", 4),
        ("talk 2", 5),
        ("talk 3", 4),
        ("talk 3", 5),
    ]


def test_equally_long_contexts_go_in_file_order():
    data = Loaded([Dialogue({}, str(number), conversation=str(number)) for number in range(4)], "")
    assert [each.response for each in Subset.build("longest-contexts").choose(data, 0.5, 9).dialogues] == ["0", "1"]


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(UserError, match=r"Did you mean 'random'\? Choose one of: longest-contexts, random"):
        Subset.build("randm")
