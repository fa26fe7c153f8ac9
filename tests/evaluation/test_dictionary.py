"""Words of a gold reply under a model, against whole passes without a cache for every word of the dictionary."""

import math
from types import SimpleNamespace

import pytest
import torch

from personae.errors import UserError
from personae.evaluation.dictionary import WordScorer
from personae.text.collate import Collator
from personae.text.pack import Packed
from tests.helpers import BOS, EOS, PAD, tiny_model

# Words by their pieces; "no" goes on as "nor" and "nordic".
WORDS = {
    "hi": (1,),
    "you": (2,),
    "no": (3,),
    "nor": (3, 4),
    "nordic": (3, 4, 5),
    "bake": (6, 7),
    "bark": (6, 8),
    "!": (9,),
}
OUTSIDE = {"xyzzy": (10, 11)}
PACKED = Packed({"persona": [5, 6, 7], "context": [8, 9]}, {}, [5, 6, 7, BOS], [1, EOS])
TEXT = "Hi you xyzzy bake nor!"
MODELS = [("fused", "paa"), ("fused", "attention"), ("seq2seq", "sum"), ("hosted", "sum")]


def speaker(name: str, fusion: str):
    variant = "beside" if fusion == "attention" else "plain"
    return SimpleNamespace(
        model=tiny_model(name, fusion, variant),
        collate=Collator(PAD),
        packer=SimpleNamespace(encode=lambda word: [*(WORDS | OUTSIDE)[word]]),
        move=lambda batch: batch,
    )


def log_mass(model, prompt: list[int], pieces: tuple[int, ...]) -> float:
    """ln p(pieces | prompt) by one pass over both."""
    sources = Collator(PAD).sources([PACKED])
    row = [*prompt, *pieces]
    logits = model(torch.tensor([row]), sources=sources, attention_mask=torch.ones(1, len(row))).logits[0].double()
    logs = logits.log_softmax(-1)[len(prompt) - 1 : -1]
    return sum(float(logs[at, piece]) for at, piece in enumerate(pieces))


@torch.no_grad()
def brute_force(model) -> tuple[float, int]:
    """Nats and number of the scored words."""
    prompt, nats, scored = [*PACKED.prompt], 0.0, 0
    for word in ["hi", "you", "xyzzy", "bake", "nor", "!"]:
        if word in WORDS:
            masses = {each: log_mass(model, prompt, pieces) for each, pieces in WORDS.items()}
            nats -= masses[word] - math.log(sum(map(math.exp, masses.values())))
            scored += 1
        prompt += (WORDS | OUTSIDE)[word]
    return nats, scored


@pytest.mark.parametrize(("name", "fusion"), MODELS)
def test_it_is_what_whole_passes_give(name: str, fusion: str) -> None:
    made = speaker(name, fusion)
    nats, scored = brute_force(made.model)
    exact = WordScorer(made, list(WORDS), tolerance=0.0).score(PACKED, TEXT)
    assert exact.nats == pytest.approx(nats, abs=1e-4)
    assert (exact.words, exact.skipped, exact.slack) == (scored, 1, 0.0)
    near = WordScorer(made, list(WORDS), tolerance=0.5).score(PACKED, TEXT)
    assert 0 < near.slack <= 0.5 * scored
    assert nats - 1e-4 <= near.nats <= nats + near.slack + 1e-4


def test_a_reply_that_does_not_fit() -> None:
    with pytest.raises(UserError, match="48"):
        WordScorer(speaker("fused", "paa"), list(WORDS), 0.0).score(PACKED, "hi " * 60)


def test_types_of_tokens_go_on() -> None:
    """A prompt whose tokens have types: the reply's words have that of its begin token."""
    made = speaker("fused", "paa")
    typed = Packed(
        PACKED.sources, {}, PACKED.prompt, PACKED.reply, {"persona": [12] * 3, "context": [13] * 2}, [12, 12, 12, 14]
    )
    found = WordScorer(made, list(WORDS), 0.0).score(typed, "hi bake")
    batch = made.collate([Packed(**{**vars(typed), "reply": [1, 6, 7]})])
    with torch.no_grad():
        joint = float(made.model(**batch).nll.sum())
    with torch.no_grad():
        plain = WordScorer(made, list(WORDS), 0.0).score(PACKED, "hi bake")
    assert found.nats < joint  # the dictionary's mass is below 1 here
    assert found.nats != pytest.approx(plain.nats, abs=1e-3)
