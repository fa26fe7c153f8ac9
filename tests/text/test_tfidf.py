"""TF-IDF vectors, against the formula by hand."""

import math

import pytest

from personae.text.tfidf import TfIdf, cosine

SPACE = TfIdf([["a", "b", "b"], ["a", "c"], ["a", "c"]])


def test_weights_are_log_counts_times_inverse_document_frequency() -> None:
    b, c = (1 + math.log(2)) * math.log(3), math.log(3 / 2)
    length = math.hypot(b, c)
    # "a" stands in every document, "d" in none.
    assert SPACE.vector(["a", "b", "b", "c", "d"]) == pytest.approx({"b": b / length, "c": c / length})


def test_the_cosine_of_unit_vectors() -> None:
    assert cosine(SPACE.vector("bc"), SPACE.vector("bc")) == pytest.approx(1)
    assert cosine(SPACE.vector("b"), SPACE.vector("c")) == 0
    assert cosine(SPACE.vector("ad"), SPACE.vector("b")) == 0
