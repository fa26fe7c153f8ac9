"""Embedding metrics against the published code's values on a toy table, and what a user can get wrong."""

from pathlib import Path

import numpy as np
import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.embedding import extremes
from personae.metrics.vectors import load_vectors
from tests.metrics.recorded import load, value

NAMES = ("average", "greedy", "extrema")
ROWS = "dog 1 0 0\ncat 0.6 0.8 0\nsun -0.0 -1 1e-1\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def table(reference: Path, tmp_path: Path) -> tuple[list[dict[str, float | str | None]], Path]:
    recorded = load(reference / "adand" / "embedding_metrics.json")
    np.savez(tmp_path / "toy.npz", words=np.array(recorded["vocab"]), vectors=np.array(recorded["vectors"]))
    return recorded["cases"], tmp_path / "toy.npz"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_published_value_of_every_pair(table, name: str) -> None:
    cases, vectors = table
    metric = Metric.build(f"embedding_{name}", vectors=vectors)
    for case in cases:
        replies = [Reply(case["pred"], (case["target"],))]
        if case[name] is None:
            with pytest.raises(UserError, match="no reference has a word in"):
                metric.measure(replies)
        else:
            assert metric.measure(replies).value == pytest.approx(100 * case[name], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_is_over_what_can_be_compared(table, reference: Path, name: str) -> None:
    cases, vectors = table
    expected = load(reference / "adand" / "embedding_metrics.json")["corpus"]["mean"][name]
    metric = Metric.build(f"embedding_{name}", vectors=vectors)
    score = metric.score([case["pred"] for case in cases], [[case["target"]] for case in cases])
    assert score.value == pytest.approx(100 * expected, rel=1e-5)
    scored = sum(case[name] is not None for case in cases)
    assert f"|scored:{scored}|refs:max|" in score.signature
    assert f"|vectors:{load_vectors(vectors).digest}|" in score.signature


@pytest.mark.parametrize("text", [ROWS, "3 3\n" + ROWS, ROWS.replace("\n", "\n\n")])
def test_glove_and_word2vec_text_and_npz_are_the_same(tmp_path: Path, text: str) -> None:
    vectors = load_vectors(write(tmp_path / "v.txt", text))
    assert vectors.of(["sun", "moon", "dog"]).tolist() == [pytest.approx([0, -1, 0.1]), [1, 0, 0]]


def test_words_may_hold_blanks(tmp_path: Path) -> None:
    vectors = load_vectors(write(tmp_path / "v.txt", "dog 1 0\nat home 0 1\n"))
    assert vectors.rows == {"dog": 0, "at home": 1}


def test_by_hand_with_case_and_several_references(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", ROWS)
    assert value("embedding_average", ["Dog"], [["cat", "sun", "moon"]], vectors=path) == pytest.approx(60)
    assert value("embedding_greedy", ["dog cat"], [["dog"]], vectors=path) == pytest.approx(50 * (1 + 0.8))
    assert value("embedding_average", ["moon", "dog"], [["dog"], ["dog"]], vectors=path) == pytest.approx(50)


def test_extremes_keep_the_sign() -> None:
    assert extremes(np.array([[1, -3, 2], [2, 1, -2]], np.float32)).tolist() == [2, -3, 2]
    assert extremes(np.zeros((0, 2), np.float32)).tolist() == [0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_without_vectors_it_does_not_apply_and_says_what_to_give(name: str) -> None:
    metric, replies = Metric.build(f"embedding_{name}"), [Reply("a", ("b",))]
    assert not metric.applies(replies)
    with pytest.raises(UserError, match="needs word vectors: give --vectors FILE"):
        metric.measure(replies)


def test_with_vectors_it_applies_where_references_are(tmp_path: Path) -> None:
    metric = Metric.build("embedding_greedy", vectors=str(write(tmp_path / "v.txt", ROWS)))
    assert metric.applies([Reply("a", ("b",))])
    assert not metric.applies([Reply("a", ())])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: no word with its numbers"),
        ("dog\ncat\n", "line 1: no word with its numbers"),
        ("dog 1 2\ncat 1\n", "lines 1-2: not a word and 2 numbers each"),
        ("dog 1 2\ncat 1 two\n", "lines 1-2: not a word and 2 numbers each"),
        ("3 2\n", "has no finite vector for each of its words"),
        ("dog 1 nan\n", "has no finite vector for each of its words"),
    ],
)
def test_a_broken_text_file_is_the_users_error(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        load_vectors(write(tmp_path / "v.txt", text))


def test_other_files_are_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read word vectors from"):
        load_vectors(tmp_path / "none.txt")
    with pytest.raises(UserError, match="cannot read word vectors from"):
        load_vectors(tmp_path)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00 1 2")
    with pytest.raises(UserError, match="cannot read word vectors from"):
        load_vectors(tmp_path / "binary.txt")
    for name, arrays in (("a", {"words": np.array(["x"])}), ("b", {"words": np.array(["x"]), "vectors": np.ones(3)})):
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(UserError, match=r"word vectors|finite vector"):
            load_vectors(tmp_path / f"{name}.npz")
    np.savez(tmp_path / "c.npz", words=np.array(["x"], object), vectors=np.ones((1, 2)))
    with pytest.raises(UserError, match="plain arrays"):
        load_vectors(tmp_path / "c.npz")
    with pytest.raises(UserError, match=r"plain arrays|cannot read"):
        load_vectors(write(tmp_path / "d.npz", "no zip"))
