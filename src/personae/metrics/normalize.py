"""How texts are cut into words before they are counted: ParlAI's rule, and those of single papers."""

import re
import string

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


def words_without_articles(text: str) -> list[str]:
    """Lower-cased words without a, an, the; punctuation stays: Cao et al. (2020) count these.

    The published code splits at single blanks: an empty text is one empty word.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower()).split()).split(" ")


_SPACED = str.maketrans({mark: f" {mark} " for mark in string.punctuation})
_CLEANED = {
    **{f" {mark}": mark for mark in ".?!,"},
    " ' ": "'",
    **{f" {ending}": ending for ending in ("n't", "'m", "'s", "'ve", "'re")},
}


def cleaned(text: str) -> str:
    """``text`` without the blanks before punctuation that GPT-2 decoding took out in transformers 4, in its order."""
    for before, after in _CLEANED.items():
        text = text.replace(before, after)
    return text


def words_and_marks(text: str) -> list[str]:
    """Words and single ASCII punctuation marks of the cleaned text, case kept: PAA (Huang et al. 2023) counts these."""
    return cleaned(text).translate(_SPACED).split()
