"""What a metric needs of its replies, checked with one line that says what to do."""

from personae.errors import UserError
from personae.metrics.sample import Chunk, Sample


def require_replies(name: str, sample: Sample) -> None:
    """Refuse an empty sample: no metric is defined on it."""
    if not sample.replies:
        raise UserError(f"{name} has no replies to score: check that the predictions file is not empty")


def require_references(name: str, chunk: Chunk) -> None:
    """Refuse replies without a gold reply to compare with."""
    for number, reply in enumerate(chunk.replies, chunk.start):
        if not reply.references:
            raise UserError(f"{name} needs gold replies, but reply {number} has none: give its references")
