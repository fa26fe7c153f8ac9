"""The normalisation that ParlAI applies before F1, exact match and distinct."""

import re

_PUNCTUATION = str.maketrans(dict.fromkeys("!\"#$%&()*+,-./:;<=>?@[]\\^`{|}~_'", " "))
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize(text: str) -> str:
    """Lower, ASCII punctuation to blanks, then a/an/the to blanks, then single blanks.

    ``normalize_answer`` of parlai/core/metrics.py. Articles go after punctuation: "cat's an" becomes "cat s".
    Typographic quotes and dashes are not ASCII and stay.
    """
    return " ".join(normalized_tokens(text))


def normalized_tokens(text: str) -> list[str]:
    """Blank-separated tokens of ``normalize(text)``."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
