"""Signatures name the metric, the sample and the version."""

from personae._version import __version__
from personae.metrics import Reply
from personae.metrics.sample import Sample
from personae.metrics.signature import sample_signature, signature


def test_fields_keep_their_order_and_the_version_is_last() -> None:
    assert signature("f1", n=3, norm="parlai") == f"f1|n:3|norm:parlai|v:{__version__}"


def test_a_sample_is_counted_in_replies_and_conversations() -> None:
    sample = Sample()
    sample.hear([Reply("x", ("x",), conversation=name) for name in ("a", "a", "b")])
    assert sample_signature("f1", sample, avg="reply") == f"f1|n:3|conv:2|avg:reply|v:{__version__}"
