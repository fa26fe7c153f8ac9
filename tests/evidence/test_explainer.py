"""Explained replies against computations by hand, on tiny models and a dialogue of six texts."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from personae.errors import UserError
from personae.evidence import Explainer, Recorder
from personae.evidence.attention import PromptRecorder, TextRecorder, split
from personae.evidence.explained import strongest
from personae.evidence.explainer import gather
from personae.evidence.spelling import word_slices
from personae.text.collate import Collator
from personae.text.dialogue import Dialogue
from tests.evidence.made import PERSONA, REPLY, TURNS, explainer, model, packer, talk, tokenizer

CLOSE = {"abs": 3e-5, "rel": 1e-6}  # nats are taken of float32 logits


def batch_of(packed):
    return Collator(int(tokenizer().pad_token_id))([packed])


def log_probability(network, packed) -> float:
    """Of the reply and its end token, from plain logits."""
    ids = torch.tensor([[*packed.prompt, *packed.reply]])
    sources = {
        name: {"input_ids": torch.tensor([row]), "attention_mask": torch.ones(1, len(row), dtype=torch.bool)}
        for name, row in packed.sources.items()
    }
    with torch.no_grad():
        said = functional.log_softmax(network(input_ids=ids, sources=sources).logits[0], -1)
    start = len(packed.prompt)
    return float(sum(said[start - 1 + at, token] for at, token in enumerate(packed.reply)))


@pytest.fixture(scope="module")
def both() -> Explainer:
    return explainer(prompt=("persona",))


def test_texts_and_marks_add_up_to_their_source(both):
    explained = both.explain(talk())
    for name in ("persona", "context"):
        texts = sum(text.share for text in explained.texts if text.source == name)
        assert texts + explained.marks[name] == pytest.approx(explained.shares[name], **CLOSE)
        assert explained.marks[name] > 0
    assert sum(explained.shares.values()) == pytest.approx(1, **CLOSE)


def test_word_for_word_too():
    """Without marks nothing but texts is left."""
    explained = explainer(marks=False).explain(talk())
    assert [word.text for word in explained] == REPLY.split()
    names = [text.source for text in explained.texts]
    for word in explained:
        for source, share in word.shares.items():
            parts = [part for name, part in zip(names, word.texts, strict=True) if name == source]
            assert sum(parts) == pytest.approx(share, **CLOSE)


def test_the_split_by_hand():
    """Two layers, one source after the reply's own voice, three tokens: each layer's part times its mean look."""
    layers = torch.tensor([[[[0.1, 0.4]]], [[[0.3, 0.2]]]])
    first, second, again = (torch.tensor([[row]]) for row in ([0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    (found,) = split(layers, [[[first]], [[second, again]]])
    torch.testing.assert_close(found, torch.tensor([[[0.2 + 0.1, 0.2, 0.1]]]))
    assert split(layers, [[[]], [[second]]]) is None
    assert split(layers, [[], []]) is None


def test_weights_are_those_that_attention_used():
    """The answer made from them, head by head, is what the fused kernel returns."""
    network, packed = model(), packer().pack_sources(talk())
    attention = network.decoder.h[0].asks[0].attention
    attention.heads = 1  # with one head the mean over heads is the head's own
    source = network.encode(batch_of(packed)["sources"])["persona"]
    query = torch.randn(1, 4, 16, dtype=torch.float64)
    weights = attention.weights(query, source)
    _, values = source.projected(attention, attention.project)
    expected = attention(query, source)
    torch.testing.assert_close(
        attention.finish((weights.double() @ values[:, 0])[:, :, None]), expected, atol=1e-5, rtol=0
    )


def test_shares_of_sources_are_the_recorders(both):
    packed = both.pack(talk())
    with torch.no_grad(), Recorder(both.model, both.voices) as recorder:
        both.model(**batch_of(packed))
    start = len(packed.prompt) - 1
    expected = recorder.passes[0][0, start : start + len(packed.reply) - 1].mean(0).tolist()
    assert list(both.explain(talk()).shares.values()) == pytest.approx(expected, **CLOSE)


def test_leave_one_out_is_a_second_reading_without_the_text(both):
    explained, pack = both.explain(talk()), both.pack
    whole = log_probability(both.model, pack(talk()))
    assert explained.nats == pytest.approx(-whole, **CLOSE)
    assert explained.tokens == len(pack(talk()).reply)
    for at in range(3):
        persona = [text for i, text in enumerate(PERSONA) if i != at]
        expected = whole - log_probability(both.model, pack(talk(persona)))
        assert explained.texts[at].nats == pytest.approx(expected, **CLOSE)
        assert abs(expected) > 1e-3
    first = Dialogue({"persona": PERSONA, "context": TURNS[1:]}, REPLY, roles={"context": ("self", "partner")})
    assert explained.texts[3].nats == pytest.approx(whole - log_probability(both.model, pack(first)), **CLOSE)
    assert explained.texts[3].nats_per_token == pytest.approx(explained.texts[3].nats / explained.tokens)


def test_words_and_the_end_token_add_up(both):
    explained = both.explain(talk())
    for at, text in enumerate(explained.texts):
        said = sum(word.nats[at] for word in explained)
        packed, fewer = both.pack(talk()), both.pack(talk([one for i, one in enumerate(PERSONA) if i != at]))
        if at < 3:
            end = (nats_of_end(both, fewer) - nats_of_end(both, packed)).item()
            assert said + end == pytest.approx(text.nats, **CLOSE)


def nats_of_end(explainer, packed):
    with torch.no_grad():
        return explainer.model(**batch_of(packed)).nll[0, len(packed.prompt) + len(packed.reply) - 1]


def test_batches_change_nothing():
    alone, together = explainer(prompt=("persona",), rows=1), explainer(prompt=("persona",))
    long = talk(turns=("hi !", "hello .", *TURNS), response="my mother sings in oslo , and i have two dogs .")
    dialogues = [talk(), long, talk(persona=PERSONA[:2], turns=TURNS[2:])]
    for one, other in zip([alone.explain(each) for each in dialogues], together.explain_all(dialogues), strict=True):
        assert one.nats == pytest.approx(other.nats, **CLOSE)
        for mine, theirs in zip(one.texts, other.texts, strict=True):
            assert mine.share == pytest.approx(theirs.share, **CLOSE)
            assert mine.nats == pytest.approx(theirs.nats, **CLOSE)
        for mine, theirs in zip(one, other, strict=True):
            assert mine.texts == pytest.approx(theirs.texts, **CLOSE)
            assert mine.nats == pytest.approx(theirs.nats, **CLOSE)


def test_a_text_that_was_cut_is_not_read_and_weighs_nothing():
    made = explainer(budgets={"context": 40})
    explained = made.explain(talk())
    assert [text.read for text in explained.texts if text.source == "context"] == [False, False, True]
    cut = explained.texts[3]
    assert (cut.share, cut.nats) == (0.0, 0.0)
    assert explained.texts[5].nats != 0


def test_explaining_counts_no_cut():
    """The warning that a persona does not fit is about what was said, not about what is explained."""
    packs = packer(budgets={"context": 40})
    Explainer(model(), tokenizer(), packs).explain(talk())
    assert packs.cuts.dialogues == 0


def test_of_the_only_text_of_a_source_its_marks_stay():
    made = explainer()
    explained = made.explain(talk(persona=PERSONA[:1]))
    packed = made.pack(talk(persona=PERSONA[:1]))
    bare = replace(packed, sources={**packed.sources, "persona": packed.sources["persona"][:1]})
    expected = log_probability(made.model, packed) - log_probability(made.model, bare)
    assert explained.texts[0].nats == pytest.approx(expected, **CLOSE)


def test_a_text_that_nothing_could_stand_for_cannot_be_left_out():
    explained = explainer(marks=False).explain(talk(persona=PERSONA[:1]))
    assert explained.texts[0].nats is None
    assert explained.words[0].nats[0] is None
    assert explained.texts[1].nats is not None


def test_two_sources_in_one_row_are_told_apart():
    explained = explainer(fusion="sum", sources=("persona+context",)).explain(talk())
    assert [text.label for text in explained.texts[2:4]] == ["persona 3", "context 1 (partner)"]
    assert list(explained.shares) == ["persona+context"]
    assert sum(text.share for text in explained.texts) + explained.marks["persona+context"] == pytest.approx(1, **CLOSE)
    assert len({round(text.share, 9) for text in explained.texts}) == 6


def test_without_sources_the_prompt_stands_in():
    made = explainer(sources=(), prompt=("persona", "context"))
    explained = made.explain(talk())
    assert explained.view == "prompt"
    assert list(explained.shares) == ["reply", "persona", "context"]
    assert sum(explained.shares.values()) == pytest.approx(1, **CLOSE)
    for name in ("persona", "context"):
        texts = sum(text.share for text in explained.texts if text.source == name)
        assert texts + explained.marks[name] == pytest.approx(explained.shares[name], **CLOSE)
    packed = made.pack(talk())
    with torch.no_grad(), PromptRecorder(made.model) as recorder:
        made.model(**batch_of(packed))
    row = len(packed.prompt) - 1
    assert recorder.weights[0, row, row + 1 :].sum() == 0
    second = [at for at, origin in enumerate(packed.prompt_origins) if origin == ("persona", 1)]
    expected = recorder.weights[0, row : row + len(packed.reply) - 1][:, second].sum(-1).mean()
    assert explained.texts[1].share == pytest.approx(expected.item(), **CLOSE)


def test_the_plain_kernel_says_the_same_and_is_left_again():
    made = explainer(sources=(), prompt=("persona", "context"))
    batch = batch_of(made.pack(talk()))
    before = made.model.config.decoder._attn_implementation
    with torch.no_grad():
        plain = made.model(**batch).nll
        with PromptRecorder(made.model):
            torch.testing.assert_close(made.model(**batch).nll, plain)
    assert made.model.config.decoder._attn_implementation == before
    assert not any(module._forward_hooks for module in made.model.modules())


def test_recording_changes_nothing_and_leaves_no_hook(both):
    batch = batch_of(both.pack(talk()))
    with torch.no_grad():
        plain = both.model(**batch).nll
        with TextRecorder(both.model, both.voices) as recorder:
            assert torch.equal(both.model(**batch).nll, plain)
        both.model(**batch)
    assert len(recorder.passes) == 1
    assert not any(module._forward_hooks for module in both.model.modules())


def test_a_fusion_that_looks_at_no_token_has_shares_and_leave_one_out_only():
    explained = explainer(fusion="condition").explain(talk())
    assert explained.view == "shares"
    assert sum(explained.shares.values()) == pytest.approx(1, **CLOSE)
    assert explained.by_attention == [None] * 6
    assert all(nats is not None for nats in explained.by_leave_one_out)


@pytest.mark.parametrize(
    ("response", "line"), [("  ", "the reply is empty"), ("dogs and " * 200, "the decoder has room for")]
)
def test_a_reply_that_cannot_be_explained(both, response, line):
    with pytest.raises(UserError, match=line):
        both.explain(talk(response=response))


def test_a_reply_over_its_budget_is_explained_where_it_fits(both):
    assert both.explain(talk(response="i live in oslo . my mother sings , and i have two dogs .")).tokens > 40


def test_words_of_several_tokens_and_half_characters():
    words = tokenizer()
    ids = packer().encode("größe 🐕 of oslo")
    found = word_slices(words, ids)
    assert [text for text, _ in found] == ["größe", "🐕", "of", "oslo"]
    assert [part.start for _, part in found[1:]] == [part.stop for _, part in found[:-1]]
    assert (found[0][1].start, found[-1][1].stop) == (0, len(ids))
    (last,) = word_slices(words, packer().encode("🐕")[:-1])
    assert last[1] == slice(0, len(packer().encode("🐕")) - 1)


def test_gather_sums_by_text_and_keeps_the_rest():
    weights = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    origins = [("persona", -1), ("persona", 0), ("context", 0), ("persona", 0)]
    found, rest = gather(weights, origins, [("context", 0), ("persona", 0), ("persona", 1)])
    assert found.tolist() == [[4.0, 10.0, 0.0]]
    assert rest.tolist() == [1.0]


def test_the_strongest_is_the_first_of_equals_and_nothing_where_none_helped():
    assert strongest([0.1, None, 0.4, 0.4]) == 2
    assert strongest([None, 0.0, -1.0]) is None
    assert strongest([]) is None
