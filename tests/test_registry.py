from abc import ABC

import pytest

from personae.errors import UserError
from personae.registry import Registrable


@pytest.fixture
def kind() -> type[Registrable]:
    class Kind(Registrable, ABC):
        pass

    @Kind.register("second")
    class Second(Kind):
        """The second one.

        More about it.
        """

        def __init__(self, size: int = 0) -> None:
            self.size = size

    @Kind.register("first")
    class First(Kind):
        pass

    return Kind


def test_names_are_sorted(kind):
    assert kind.names() == ["first", "second"]


def test_a_class_knows_its_name(kind):
    assert kind.get("second").name == "second"


def test_build_passes_options(kind):
    assert kind.build("second", size=3).size == 3


def test_summary_is_the_first_line_of_the_docstring(kind):
    assert kind.get("second").summary() == "The second one."


def test_unknown_name_gives_nearest_and_choices(kind):
    with pytest.raises(UserError, match=r"unknown kind 'secnd'\. Did you mean 'second'\? .*: first, second"):
        kind.get("secnd")


def test_unknown_name_far_from_all_gives_choices_only(kind):
    with pytest.raises(UserError, match=r"unknown kind 'zzz'\. Choose one of: first, second"):
        kind.build("zzz")


def test_a_name_is_taken_once(kind):
    with pytest.raises(ValueError, match=r"Kind 'first' is already .*\.First"):
        kind.register("first")(type("Other", (kind,), {}))
    assert kind.get("first").__name__ == "First"


def test_registries_are_apart(kind):
    class Another(Registrable, ABC):
        pass

    assert Another.names() == []
    assert kind.names() == ["first", "second"]


def test_a_subclass_shares_the_registry_of_its_base(kind):
    @kind.get("second").register("third")
    class Third(kind.get("second")):
        pass

    assert kind.names() == ["first", "second", "third"]
