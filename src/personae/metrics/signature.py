"""Signatures: what a number was computed with, in sacreBLEU's style, so that it can be recomputed."""

from collections.abc import Sequence

from personae._version import __version__
from personae.metrics.base import Reply


def signature(name: str, **fields: object) -> str:
    """Return ``name|key:value|...|v:<version>``, keys in the order given: ``f1|n:7801|v:0.1.0``."""
    return "|".join([name, *(f"{key}:{value}" for key, value in fields.items()), f"v:{__version__}"])


def sample_signature(name: str, replies: Sequence[Reply], **fields: object) -> str:
    """Return a ``signature`` that opens with the number of replies, ``n``, and of conversations, ``conv``."""
    conversations = len({reply.conversation for reply in replies})
    return signature(name, n=len(replies), conv=conversations, **fields)
