"""Rankers by a model: the scores are those of whole rows read one by one, for every model."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from personae.errors import UserError
from personae.models import DialogueModel
from personae.ranking import Question, Ranker
from personae.ranking.model import Head, Likelihood, alike
from personae.text.collate import Collator
from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.pack import Packed, Packer
from personae.text.tokenizer import train_tokenizer
from tests.helpers import TINY, counted_calls, shake
from tests.models.test_candidates import HEADS

SOURCES = ("persona", "context")
TOKENIZER = train_tokenizer(["i ski and sing in the town", "who are you ? yes , no"], 264 + 30)
IDS = {
    "vocab_size": len(TOKENIZER),
    "bos_token_id": TOKENIZER.bos_token_id,
    "eos_token_id": TOKENIZER.eos_token_id,
    "pad_token_id": TOKENIZER.pad_token_id,
}
POSITIONS = 160
CASES = [("fused", "paa"), ("fused", "condition"), ("fused", "sum")]
CASES += [("seq2seq", "sum"), ("hosted", "paa"), ("hosted", "condition")]


def tiny(name: str, fusion: str, **more: Any) -> DialogueModel:
    room: dict[str, Any] = {
        "fused": {
            "encoder": {**TINY["fused"]["encoder"], "max_position_embeddings": POSITIONS},
            "decoder": {**TINY["fused"]["decoder"], "n_positions": POSITIONS},
        },
        "seq2seq": TINY["seq2seq"],
        "hosted": {**TINY["hosted"], "base_config": {**TINY["hosted"]["base_config"], "max_position_embeddings": 160}},
    }
    torch.manual_seed(0)
    model = DialogueModel.get(name).create(SOURCES, {"name": fusion}, IDS, {**room[name], **more})
    return shake(model).eval().double()


def packer(prompt: Sequence[str] = ("persona",), types: str = "none") -> Packer:
    return Packer(TOKENIZER, SOURCES, prompt, {"persona": 40, "context": 60, "reply": 30}, types)


def question(persona: str, said: Sequence[str], candidates: Sequence[str]) -> Question:
    roles = {"context": tuple(SELF if at % 2 else PARTNER for at in range(len(said)))}
    return Question(Dialogue({"persona": (persona,), "context": tuple(said)}, "", roles=roles), tuple(candidates))


QUESTIONS = [
    question("i ski .", ["who are you ?"], ["yes", "i ski and sing in the town", "no , no", "", "me", "i", "you ?"]),
    question("i sing in the town .", ["hi", "yes", "and ?"], ["in town", "sing", "a", "b", "no", "who are you", "ski"]),
    question("no .", ["you ?"], ["yes , i do", "no"]),
]


def row(packing: Packer, one: Question, text: str, end: Sequence[int] = ()) -> Packed:
    packed = packing.pack_sources(one.dialogue)
    packed.reply.extend([*packing.encode(text), TOKENIZER.eos_token_id, *end])
    return packed


def flat(scores: Sequence[Sequence[float]]) -> list[float]:
    return [one for each in scores for one in each]


@pytest.mark.parametrize("prompt", [("persona",), ()], ids=["prompt", "bare"])
@pytest.mark.parametrize(("name", "fusion"), CASES)
def test_likelihood_is_the_mean_nats_of_whole_rows(name: str, fusion: str, prompt: tuple[str, ...]) -> None:
    model, packing = tiny(name, fusion), packer(prompt)
    collate = Collator(IDS["pad_token_id"])
    expected = []
    for one in QUESTIONS:
        for text in one.candidates:
            with torch.no_grad():
                expected.append(-model(**collate([row(packing, one, text)])).loss.item())
    assert flat(Likelihood(model, packing).scores(QUESTIONS)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("types", ["sources", "speakers"])
def test_likelihood_reads_types_of_tokens(types: str) -> None:
    model, packing = tiny("fused", "paa"), packer(types=types)
    collate = Collator(IDS["pad_token_id"])
    with torch.no_grad():
        rows = [row(packing, one, text) for one in QUESTIONS for text in one.candidates]
        expected = [-model(**collate([each])).loss.item() for each in rows]
    assert flat(Likelihood(model, packing).scores(QUESTIONS)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("head", HEADS)
def test_a_head_scores_whole_rows(head: str) -> None:
    model, packing = tiny("fused", "paa", candidate_head=head), packer()
    end = [] if model.candidate_end is None else [TOKENIZER.get_vocab()[model.candidate_end]]
    expected = []
    for one in QUESTIONS:
        for text in one.candidates:
            each = row(packing, one, text, end)
            batch = Collator(IDS["pad_token_id"])([Packed(each.sources, {}, each.prompt, [], candidates=[each.reply])])
            with torch.no_grad():
                del batch["labels"]
                expected.append(model(**batch).choice_logits.item())
    assert flat(Head(model, packing).scores(QUESTIONS)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("ranker", ["likelihood", "head"])
def test_neither_batch_nor_company_nor_order_changes_a_score(ranker: str) -> None:
    model = tiny("fused", "paa", candidate_head="binary")
    together = Ranker.build(ranker, model=model, packer=packer()).scores(QUESTIONS)
    alone = Ranker.build(ranker, model=model, packer=packer(), batch=1)
    assert flat([alone.scores([one])[0] for one in QUESTIONS]) == pytest.approx(flat(together), abs=1e-9)
    turned = [Question(one.dialogue, one.candidates[::-1]) for one in QUESTIONS]
    assert flat([each[::-1] for each in alone.scores(turned)]) == pytest.approx(flat(together), abs=1e-9)


@pytest.mark.parametrize("ranker", ["likelihood", "head"])
def test_sources_are_encoded_once_per_dialogue(ranker: str) -> None:
    model = tiny("fused", "paa", candidate_head="binary")
    chosen = Ranker.build(ranker, model=model, packer=packer())
    with counted_calls(list(model.encoders.values())) as calls:
        chosen.scores(QUESTIONS[:2])
    assert len(calls) == 2  # one of each source, for two dialogues with fourteen candidates


def test_batches_hold_equally_many_candidates() -> None:
    packed = [packer().pack_sources(one.dialogue) for one in QUESTIONS]
    rows = [
        Packed(each.sources, {}, each.prompt, [], candidates=[[]] * n)
        for each, n in zip(packed, (7, 2, 7), strict=True)
    ]
    batches = list(alike(rows, 64))
    assert sorted(map(sorted, batches)) == [[0, 2], [1]]


def test_a_model_without_a_head_says_how_to_get_one() -> None:
    with pytest.raises(UserError, match=r"no candidate head: rank with --candidates likelihood, or train a head"):
        Head(tiny("seq2seq", "sum"), packer())


def test_a_candidate_beyond_the_window_is_the_users_error() -> None:
    asked = question("i ski .", ["hi"], ["yes", "so " * 200])
    with pytest.raises(UserError, match=r"a candidate has \d+ tokens, the decoder has room for"):
        Likelihood(tiny("fused", "paa"), packer()).scores([asked])
