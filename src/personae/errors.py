"""The one error a user can cause: a line that says what to do."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Something the user can put right.

    The command line prints the message as one line and exits with code 2; every other exception is a
    defect of ours and keeps its traceback.
    """


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the choice nearest to ``word``, or an empty string."""
    match = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f" Did you mean '{match[0]}'?" if match else ""
