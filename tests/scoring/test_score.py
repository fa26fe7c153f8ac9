"""Scoring from Python: memory, chunks, metrics that take word vectors, floors that know nothing of a model."""

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.floors import Floor
from personae.metrics.sample import Chunk
from personae.metrics.summed import Summed
from personae.scoring import open_predictions, score
from personae.scoring.choice import choose
from personae.scoring.voices import FLOORS, floor_voice, human
from personae.text.dialogue import Dialogue

REPLY = Reply(
    *("i sing .", ("i hum .", "no"), "c"),
    sources={"persona": ("i bake .", "i row ."), "context": ("hi", "and you ?")},
    nats=3.0,
    tokens=4,
    answer=("hum",),
    tags={"kind": "persona"},
)


class Near(Summed):
    """A metric as those that compare word vectors are: measured where it is asked for, with a file."""

    default = False

    def __init__(self, vectors: Path | None = None) -> None:
        self.vectors = vectors

    def applies(self, replies: Sequence[Reply]) -> bool:
        return self.vectors is not None and super().applies(replies)

    def statistics(self, chunk: Chunk) -> list[tuple[float, float]]:
        return [(float(len(str(self.vectors))), 1.0) for _ in chunk.replies]


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Metric, "_classes", dict(Metric._classes))
    Metric.register("near")(Near)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    said, golds = tmp_path / "said.txt", tmp_path / "golds.txt"
    said.write_text("i sing .\nno\n")
    golds.write_text("i hum .\nyes\n")
    return said, golds


@pytest.mark.usefixtures("near")
def test_word_vectors_go_to_the_metrics_that_compare_them(files, tmp_path):
    vectors = tmp_path / "glove.txt"
    vectors.write_text("i 1 0\nhum 0 1\nsing 1 1\nno 1 2\nyes 2 1\n")
    found = score(open_predictions(*files), vectors=vectors)
    assert found.predictions["near"].value == len(str(vectors))
    assert found.predictions.keys() > {"f1", "near"}
    assert found.floors["constant:convai2"].keys() == found.predictions.keys()
    assert score(open_predictions(*files), ["near"], vectors).predictions.keys() == {"near"}
    assert "near" not in score(open_predictions(*files)).predictions


@pytest.mark.usefixtures("near")
def test_word_vectors_are_asked_for_and_never_ignored(files):
    with pytest.raises(UserError, match="near compares word vectors: give them with --vectors FILE"):
        choose([REPLY], ["f1", "near"])
    with pytest.raises(UserError, match=r"none of the metrics chosen compares word vectors; those that do: .*near"):
        choose([REPLY], ["f1"], Path("x"))


def test_without_such_a_metric_vectors_are_refused(monkeypatch):
    monkeypatch.setattr(Metric, "_classes", {"f1": Metric.get("f1")})
    with pytest.raises(UserError, match="no metric compares word vectors; leave it out"):
        choose([REPLY], None, Path("x"))


def test_what_is_measured_by_name_only_is_left_out(monkeypatch):
    monkeypatch.setattr(Metric.get("bleu_p1"), "default", False)
    assert "bleu_p1" not in choose([REPLY])
    assert choose([REPLY], ["bleu_p1"]).keys() == {"bleu_p1"}


@pytest.mark.parametrize("name", FLOORS)
def test_floors_say_what_they_say_in_an_evaluation(name):
    dialogue = Dialogue(REPLY.sources, "i hum .", ("no",), conversation="c", answer=("hum",), tags={"kind": "persona"})
    expected = Floor.build(name).replies([dialogue] * 5)
    assert list(floor_voice(name).replies([REPLY] * 5)) == expected
    assert all(reply.nats is None for reply in expected)


def test_the_human_is_not_compared_with_itself():
    said = human(REPLY, 0)
    assert (said.prediction, said.references, said.nats) == ("i hum .", (), None)
    assert said.sources == REPLY.sources


def test_every_metric_that_needs_something_says_what_is_lacking(files):
    bare = [Reply("i sing .", ())]
    for name in Metric.names():
        metric = Metric.build(name)
        if not metric.applies(bare):
            with pytest.raises(UserError, match=name):
                metric.measure(bare)


def test_what_is_read_and_kept_does_not_grow(tmp_path):
    """Three times the lines cost hardly more than a name or block of each conversation."""

    def peak(lines: int) -> int:
        said, golds = tmp_path / "said.txt", tmp_path / "golds.txt"
        said.write_text("".join(f"i like {number % 50} dogs .\n" for number in range(lines)))
        golds.write_text("".join(f"i like {number % 70} cats .\n" for number in range(lines)))
        tracemalloc.start()
        score(open_predictions(said, golds), ["f1", "dist2"])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(16_000) < 1.5 * peak(5_000) + (8 << 20)
