"""Texts as unit vectors of TF-IDF weights."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

Vector = Mapping[str, float]


class TfIdf:
    """Weights (1 + ln n) ln(N / d) of a word that stands n times in a text and in d of N documents, at length 1.

    Words of no document weigh nothing.
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        spread: Counter[str] = Counter()
        size = 0
        for words in documents:
            spread.update(set(words))
            size += 1
        self.idf = {word: math.log(size / count) for word, count in spread.items()}

    def vector(self, words: Iterable[str]) -> dict[str, float]:
        """The vector of a text; empty where no word weighs anything."""
        known = {word: count for word, count in Counter(words).items() if self.idf.get(word)}
        weights = {word: (1 + math.log(count)) * self.idf[word] for word, count in known.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two unit vectors, 0 where one is empty; words are added in the order of ``one``."""
    return sum(weight * other[word] for word, weight in one.items() if word in other)
