"""The fused model's candidate head. Shapes: B batch, C candidates, T row."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2DoubleHeadsModel

from personae.errors import UserError
from personae.models import FusedModel
from personae.text.collate import Collator
from personae.text.pack import Packed
from tests.helpers import CLOSE, DECODER, EOS, IDS, PAD, TINY, WORDS, batch_of, shake, tiny_model

CLS = 36
HEADS = ("choice", "binary")


def make(head: str = "choice", sources: tuple[str, ...] = ("persona", "context"), **options: Any) -> FusedModel:
    fusion = {"name": "paa"} if sources else {}
    torch.manual_seed(0)
    model = FusedModel.create(sources, fusion, IDS, {**TINY["fused"], "candidate_head": head, **options})
    return shake(model).eval()


def packed(row: int, gold: int, end: bool, sources: tuple[str, ...] = ("persona", "context")) -> Packed:
    """Example ``row`` with three candidates of unlike lengths."""
    chance = torch.Generator().manual_seed(row)

    def words(count: int) -> list[int]:
        return torch.randint(CLS, (count,), generator=chance).tolist()

    reply = [*words(2 + row), EOS]
    candidates = [[*words(length), EOS] for length in (5, 1)]
    candidates.insert(gold, reply)
    return Packed(
        {name: words(3 + row) for name in sources},
        {},
        prompt=[*words(2 * row), IDS["bos_token_id"]],
        reply=reply,
        candidates=[[*each, CLS] if end else each for each in candidates],
        gold=gold,
    )


def examples(end: bool = False, **options: Any) -> list[Packed]:
    return [packed(row, gold, end, **options) for row, gold in enumerate((1, 0, 2))]


def batch_for(side: str = "right", **options: Any) -> dict[str, Any]:
    return Collator(PAD, side=side)(examples(**options))


def without(batch: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name not in names}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_the_loss_is_the_replys_and_the_heads(head: str, side: str) -> None:
    """The reply's nats are those of the row read alone, though it is read as the gold candidate."""
    model, batch = make(head, candidate_loss=0.5, reply_loss=2.0), batch_for(side, end=head == "binary")
    output, plain = model(**batch), model(**without(batch, "candidates"))
    torch.testing.assert_close(output.nll, plain.nll, **CLOSE)
    torch.testing.assert_close(output.logits, plain.logits, **CLOSE)
    torch.testing.assert_close(output.terms["nll"], plain.terms["nll"], **CLOSE)
    losses = model.candidate_head.losses(output.choice_logits, torch.tensor([1, 0, 2]))
    torch.testing.assert_close(output.terms["choice"], losses.detach().mean(), **CLOSE)
    torch.testing.assert_close(output.loss, 2 * output.terms["nll"] + 0.5 * losses.mean(), **CLOSE)
    assert set(output.terms) == {"nll", "choice"}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_score_is_that_of_the_row_alone(head: str, side: str) -> None:
    end = head == "binary"
    model, batch = make(head), batch_for(side, end=end)
    with torch.no_grad():
        scores = model(**without(batch, "labels")).choice_logits
        for row, example in enumerate(examples(end)):
            for place, reply in enumerate(example.candidates or ()):
                assert_alone(model, example, reply, scores[row, place])


def assert_alone(model: FusedModel, example: Packed, reply: list[int], expected: Tensor) -> None:
    """Without padding, and as the only candidate of the only example."""
    sources = {name: torch.tensor([ids]) for name, ids in example.sources.items()}
    given = {name: {"input_ids": ids, "attention_mask": torch.ones_like(ids)} for name, ids in sources.items()}
    ids = torch.tensor([example.prompt + reply])
    memory = model.encode(given)
    hidden = model.decoder(ids, None, None, None, [memory[name] for name in sources], None)
    score = model.candidate_head.score(hidden[0, -1])[0]
    torch.testing.assert_close(score, expected, **CLOSE)


def test_the_order_of_candidates_changes_nothing_but_the_order_of_scores() -> None:
    model, batch = make(), batch_for()
    turned = {name: value.flip(1) for name, value in without(batch["candidates"], "labels").items()}
    other = {**batch, "candidates": {**turned, "labels": 2 - batch["candidates"]["labels"]}}
    one, two = model(**batch), model(**other)
    torch.testing.assert_close(two.choice_logits, one.choice_logits.flip(1), **CLOSE)
    torch.testing.assert_close(two.loss, one.loss, **CLOSE)


@pytest.mark.parametrize("head", HEADS)
def test_every_parameter_learns(head: str) -> None:
    model = make(head)
    model(**batch_for(end=head == "binary")).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_head_teaches_the_sources() -> None:
    model = make(reply_loss=0.0)
    model(**batch_for()).loss.backward()
    for encoder in model.encoders.values():
        assert encoder.bert.embeddings.word_embeddings.weight.grad.abs().sum() > 0


def test_parts_add_up_to_the_whole() -> None:
    model, whole = make().double(), batch_for()
    items = (whole["labels"] != -100).sum()
    expected = model(**whole)
    parts = [Collator(PAD)(examples()[at]) for at in (slice(0, 1), slice(1, 3))]
    found = []
    for part in parts:
        part["candidates"]["examples"] = 3
        found.append(model(**part, num_items_in_batch=items))
    torch.testing.assert_close(sum(one.loss for one in found), expected.loss, **CLOSE)
    for name in ("nll", "choice"):
        torch.testing.assert_close(sum(one.terms[name] for one in found), expected.terms[name], **CLOSE)


@pytest.mark.parametrize("head", HEADS)
def test_it_is_saved_and_loaded(head: str, tmp_path: Any) -> None:
    model, batch = make(head), without(batch_for(), "labels")
    model.save_pretrained(tmp_path)
    again = FusedModel.from_pretrained(tmp_path)
    assert again.config.candidate_head == head
    with torch.no_grad():
        assert torch.equal(again(**batch).choice_logits, model(**batch).choice_logits)


def test_a_packed_model_still_chooses() -> None:
    model, batch = make(), without(batch_for(), "labels")
    with torch.no_grad():
        expected = model(**batch).choice_logits
        found = model.pack()(**batch).choice_logits
    assert (found - expected).abs().max() < 0.2


def test_replies_are_generated_as_without_a_head() -> None:
    """The head reads; it has no part in what is said."""
    model, batch = make(), batch_of(side="left")
    plain = make("none")
    plain.load_state_dict({key: value for key, value in model.state_dict().items() if key in plain.state_dict()})
    told = {"max_new_tokens": 5, "do_sample": False}
    assert torch.equal(model.generate(**batch, **told), plain.generate(**batch, **told))


def test_who_ranks_and_what_a_candidate_ends_with() -> None:
    facts = {head: (make(head).ranks, make(head).candidate_end) for head in ("none", *HEADS)}
    assert facts == {"none": (False, None), "choice": (True, None), "binary": (True, "[CLS]")}


def test_candidates_without_a_head_are_the_users_error() -> None:
    with pytest.raises(UserError, match=r"set model\.options\.candidate_head=choice or binary"):
        tiny_model()(**batch_for())


@torch.no_grad()
def test_a_choice_head_without_sources_is_gpt2_with_two_heads() -> None:
    """Transformers' GPT2DoubleHeadsModel, the network of Wolf et al. 2019; no padding, whose positions it counts."""
    torch.manual_seed(0)
    config = GPT2Config(**DECODER, vocab_size=IDS["vocab_size"], num_labels=1, pad_token_id=PAD)
    theirs = shake(GPT2DoubleHeadsModel(config)).eval()
    ours = make(sources=(), decoder={**DECODER, "activation_function": "gelu_new"})
    summary = theirs.multiple_choice_head.summary
    head = {"candidate_head.score.weight": summary.weight, "candidate_head.score.bias": summary.bias}
    ours.load_state_dict({f"decoder.{key}": value for key, value in theirs.transformer.state_dict().items()} | head)
    ids = torch.randint(WORDS, (2, 3, 7))
    expected = theirs(ids, mc_token_ids=torch.full((2, 3), 6), token_type_ids=ids.flip(0))
    rows = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": ids.flip(0)}
    found = ours(ids[:, 0], token_type_ids=ids.flip(0)[:, 0], candidates=rows)
    torch.testing.assert_close(found.choice_logits, expected.mc_logits, **CLOSE)
    torch.testing.assert_close(found.logits, expected.logits[:, 0], **CLOSE)
