"""Every model with every fusion can be explained: shares add up, no row of a batch tells on another."""

import math

import pytest

from personae.fusion import Fusion
from personae.models import DialogueModel
from tests.evidence.made import BOTH, explainer, talk
from tests.helpers import SEQ2SEQ, VARIANTS, fitting

FEW = ("paa", "sum", "condition", "flat", "serial")
CASES = [(name, each, "plain") for name in DialogueModel.names() for each in (fitting() if name == "fused" else FEW)]
CASES += [("fused", name, "beside") for name in fitting(3) if Fusion.get(name).outputs_only]
CASES += [
    ("fused", "sum" if "block" in options else "paa", name)
    for name, options in VARIANTS.items()
    if name not in ("plain", "beside")
]
CASES += [("seq2seq", "sum", name) for name in SEQ2SEQ]


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_every_model_is_explained(case: tuple[str, str, str]) -> None:
    made = explainer(*case, prompt=("persona",))
    other = talk(turns=("who are you ?",), response="i have two dogs , and my mother sings .")
    explained, _ = made.explain_all([talk(), other])
    assert list(explained.shares) == list(made.voices)
    assert sum(explained.shares.values()) == pytest.approx(1, abs=1e-5)
    assert all(math.isfinite(text.nats) and text.nats != 0 for text in explained.texts)
    if Fusion.get(case[1]).uses_attention:
        for name in BOTH:
            parts = sum(text.share for text in explained.texts if text.source == name)
            assert parts + explained.marks[name] == pytest.approx(explained.shares[name], abs=1e-5)
    else:
        assert explained.by_attention == [None] * 6
    alone = made.explain(talk())
    assert [text.nats for text in alone.texts] == pytest.approx([text.nats for text in explained.texts], abs=1e-6)
    if Fusion.get(case[1]).uses_attention:
        assert alone.by_attention == pytest.approx(explained.by_attention, abs=1e-5)


@pytest.mark.parametrize("name", ["fused", "hosted"])
def test_a_model_without_sources_is_explained_by_its_prompt(name: str) -> None:
    explained = explainer(name, sources=(), prompt=BOTH).explain(talk())
    assert explained.view == "prompt"
    assert sum(explained.shares.values()) == pytest.approx(1, abs=1e-5)
    assert all(text.share > 0 for text in explained.texts)
    assert all(text.nats != 0 for text in explained.texts)
