"""Reader: a file of some format becomes Dialogues."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from personae.errors import UserError
from personae.registry import Registrable
from personae.text.dialogue import Dialogue

OnError = Literal["raise", "skip"]


class Reader(Registrable, ABC):
    """Reads one file format.

    ``on_error="raise"`` stops at the first malformed line with a ``UserError`` naming file, line and what
    was expected; ``"skip"`` leaves that record out and keeps the message in ``skipped``.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, on_error: OnError = "raise") -> None:
        if on_error not in ("raise", "skip"):
            raise UserError(f"on_error is 'raise' or 'skip', not '{on_error}'")
        self.on_error = on_error
        self.skipped: list[str] = []

    @abstractmethod
    def read(self, path: Path) -> Iterator[Dialogue]:
        """Yield the dialogues of ``path`` in file order."""

    @classmethod
    @abstractmethod
    def recognises(cls, path: Path, head: str) -> bool:
        """Whether ``head``, the first characters of ``path``, look like this format."""

    def malformed(self, path: Path, line: int, expected: str) -> None:
        """Report a malformed line (1-based): raise, or note it and return so that the caller skips it."""
        message = f"{path}:{line}: expected {expected}"
        if self.on_error == "raise":
            raise UserError(message)
        self.skipped.append(message)
