"""Signatures: what a number was computed with, in sacreBLEU's style, so that it can be recomputed."""

from personae._version import __version__
from personae.metrics.sample import LIMIT, Sample


def signature(name: str, **fields: object) -> str:
    """Return ``name|key:value|...|v:<version>``, keys in the order given: ``f1|n:7801|v:0.1.0``."""
    return "|".join([name, *(f"{key}:{value}" for key, value in fields.items()), f"v:{__version__}"])


def sample_signature(name: str, sample: Sample, **fields: object) -> str:
    """Return a ``signature`` that opens with the number of replies, ``n``, and of conversations, ``conv``.

    Where there are more conversations than are drawn one by one, ``blocks`` is the number of what is drawn.
    """
    blocks = {} if sample.folded is None else {"blocks": LIMIT}
    return signature(name, n=sample.replies, conv=sample.conversations, **fields, **blocks)
