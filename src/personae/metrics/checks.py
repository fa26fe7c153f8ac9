"""What a metric needs of its replies, checked with one line that says what to do."""

from collections.abc import Sequence

from personae.errors import UserError
from personae.metrics.base import Reply


def require_replies(name: str, replies: Sequence[Reply]) -> None:
    """Refuse an empty list: no metric is defined on it."""
    if not replies:
        raise UserError(f"{name} has no replies to score: check that the predictions file is not empty")


def require_references(name: str, replies: Sequence[Reply]) -> None:
    """Refuse an empty list, and replies without a gold reply to compare with."""
    require_replies(name, replies)
    for number, reply in enumerate(replies):
        if not reply.references:
            raise UserError(f"{name} needs gold replies, but reply {number} has none: give its references")


def conversations(replies: Sequence[Reply]) -> list[str]:
    """Return the unit that intervals are drawn by, reply by reply."""
    return [reply.conversation for reply in replies]
