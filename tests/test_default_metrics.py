"""What is measured without asking, and where it is printed."""

from personae.cli.scores import TABLES
from personae.compare.cells import arrowed
from personae.evaluation.scores import applicable
from personae.metrics import Metric, Reply

ODDITIES = ("paa_", "adand_", "cao_", "coco_", "parlai_", "bleu_nltk35", "embedding_")


def test_a_reply_with_a_reference_is_measured_by_few() -> None:
    found = applicable([Reply("a b", ("a",))])
    assert set(found) == {"f1", "bleu", "bleu_p1", "bleu_p2", "dist1", "dist2", "entropy4", "length"}


def test_longer_replies_are_not_better() -> None:
    assert [arrowed(name) for name in ("f1", "perplexity_word", "length")] == ["f1 ↑", "perplexity_word ↓", "length"]


def test_what_single_papers_count_is_measured_only_when_asked_for() -> None:
    odd = [name for name in Metric.names() if name.startswith(ODDITIES)]
    assert len(odd) > 15
    assert not any(Metric.get(name).default for name in odd)


def test_every_metric_on_words_has_its_table() -> None:
    placed = [name for names in TABLES.values() for name in names]
    assert len(placed) == len(set(placed))
    assert set(Metric.names()) == set(placed)
