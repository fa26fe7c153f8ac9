"""Paths to dialogues, with the reader given or guessed."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from personae.data.base import OnError, Reader
from personae.data.files import guess_reader
from personae.errors import UserError
from personae.text.dialogue import Dialogue


@dataclass(frozen=True)
class Loaded:
    """Dialogues of some files, the lines that were skipped, and a hash of the files' bytes."""

    dialogues: list[Dialogue]
    sha256: str
    skipped: list[str] = field(default_factory=list)

    @property
    def conversations(self) -> list[str]:
        """Names of the conversations, in file order."""
        return list(dict.fromkeys(dialogue.conversation for dialogue in self.dialogues))

    def draw(self, conversations: int, seed: int = 0) -> "tuple[Loaded, Loaded]":
        """Draw ``conversations`` conversations by ``seed``: those, and the rest, each in file order."""
        names = self.conversations
        if not 0 < conversations < len(names):
            raise UserError(f"cannot draw {conversations} of {len(names)} conversations and leave some")
        drawn = set(random.Random(seed).sample(names, conversations))
        ours = [dialogue for dialogue in self.dialogues if dialogue.conversation in drawn]
        rest = [dialogue for dialogue in self.dialogues if dialogue.conversation not in drawn]
        return replace(self, dialogues=ours), replace(self, dialogues=rest)


def load(paths: Sequence[str | Path], reader: str | None = None, on_error: str = "raise") -> Loaded:
    """Read ``paths`` in order. Raises ``UserError`` for a file that is missing, empty or malformed."""
    dialogues: list[Dialogue] = []
    skipped: list[str] = []
    digest = hashlib.sha256()
    for path in map(Path, paths):
        chosen = Reader.build(reader or guess_reader(path), on_error=cast(OnError, on_error))
        dialogues += chosen.read(path)
        skipped += chosen.skipped
        digest.update(path.read_bytes())
    if not dialogues:
        raise UserError(f"{', '.join(map(str, paths)) or 'no file'}: no dialogue to read")
    return Loaded(dialogues, digest.hexdigest(), skipped)
