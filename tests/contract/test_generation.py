"""What ``generate()`` promises for every model with every fusion that fits two sources."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.generation import BaseStreamer

from personae.fusion import Fusion
from personae.layers.attention import BorrowedAttention, SourceAttention
from personae.models import DialogueModel
from personae.models.adand.attention import GlobalAttention
from tests.contract.test_models import CASES
from tests.helpers import CLOSE, EOS, PAD, SOURCES, Batch, batch_of, counted_calls, only, tiny_model

NEW = 7
GREEDY = {"max_new_tokens": NEW, "do_sample": False}
BEAMS = {**GREEDY, "num_beams": 3, "num_return_sequences": 3}
SAMPLES = {"max_new_tokens": NEW, "do_sample": True, "temperature": 3.0, "top_k": 0, "num_return_sequences": 3}


# That cached steps are the full pass is checked for every fusion in test_models: here one of each kind.
KINDS = {"attention", "condition", "flat", "paa", "serial", "sum"}


@pytest.fixture(scope="module", params=[case for case in CASES if case[1] in KINDS], ids="-".join)
def model(request: pytest.FixtureRequest) -> DialogueModel:
    return tiny_model(*request.param, seed=1)


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of(side="left")


def reply(model: DialogueModel, batch: Batch, **options: Any) -> Tensor:
    """New ids only, (B or more, at most NEW)."""
    return model.generate(**batch, **options)[:, batch["input_ids"].shape[1] :]


@torch.no_grad()
def argmax_loop(model: DialogueModel, batch: Batch) -> Tensor:
    """What greedy search means: the whole row again for each token, no cache."""
    ids, mask = batch["input_ids"], batch["attention_mask"]
    ended = torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(NEW):
        best = model(ids, mask, sources=batch["sources"]).logits[:, -1].argmax(-1)
        best = best.masked_fill(ended, PAD)
        ended = ended | (best == EOS)
        ids, mask = torch.cat([ids, best[:, None]], 1), torch.cat([mask, mask.new_ones(len(ids), 1)], 1)
    return ids[:, -NEW:]


def test_greedy_is_the_uncached_argmax(model: DialogueModel, batch: Batch) -> None:
    found = reply(model, batch, **GREEDY)
    assert torch.equal(found, argmax_loop(model, batch)[:, : found.shape[1]])
    assert found.unique().numel() > 1


@pytest.mark.parametrize("options", [GREEDY, {**BEAMS, "num_return_sequences": 1}])
def test_a_left_padded_batch_is_its_single_members(model: DialogueModel, batch: Batch, options: dict[str, Any]) -> None:
    together = reply(model, batch, **options)
    for row in range(3):
        single = reply(model, only(batch, row), **options)[0]
        assert torch.equal(together[row, : len(single)], single)
        assert (together[row, len(single) :] == PAD).all()


def test_beams_score_what_they_return(model: DialogueModel, batch: Batch) -> None:
    """The search's own scores are those of the same replies read at once, so no beam saw another's sources."""
    start = batch["input_ids"].shape[1]
    told = {"return_dict_in_generate": True, "output_scores": True, "suppress_tokens": [PAD]}
    found = model.generate(**batch, **BEAMS, length_penalty=0.0, **told)
    assert found.sequences.shape[0] == 9
    for row, (ids, score) in enumerate(zip(found.sequences, found.sequences_scores, strict=True)):
        one = only(batch, row // 3)
        said = ids[start:][: 1 + (ids[start:] != PAD).nonzero().max()][None]
        whole = torch.cat([one["input_ids"], said], dim=1)
        labels = torch.cat([torch.full_like(one["input_ids"], -100), said], dim=1)
        with torch.no_grad():
            nats = model(whole, sources=one["sources"], labels=labels).nll.sum()
        torch.testing.assert_close(-nats, score, atol=1e-4, rtol=1e-4)


def test_beams_are_distinct_and_sorted(model: DialogueModel, batch: Batch) -> None:
    found = model.generate(**batch, **BEAMS, return_dict_in_generate=True, output_scores=True)
    scores = found.sequences_scores.view(3, 3)
    assert (scores[:, :-1] >= scores[:, 1:]).all()
    for example in found.sequences.view(3, 3, -1):
        assert len(example.unique(dim=0)) == 3


def test_samples_depend_on_the_seed_alone(model: DialogueModel, batch: Batch) -> None:
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(reply(model, batch, **SAMPLES))
    assert found[0].shape[0] == 9
    assert torch.equal(found[0], found[1])
    assert found[0].shape != found[2].shape or not torch.equal(found[0], found[2])
    assert len(found[0].unique(dim=0)) > 3


def test_samples_ask_their_own_examples_sources(model: DialogueModel, batch: Batch) -> None:
    """Sampling from the single best token is greedy, for every copy of every example."""
    found = reply(model, batch, **{**SAMPLES, "top_k": 1})
    expected = reply(model, batch, **GREEDY).repeat_interleave(3, 0)
    assert torch.equal(found, expected)


def test_a_streamer_hears_every_token(model: DialogueModel, batch: Batch) -> None:
    class Heard(BaseStreamer):
        def __init__(self) -> None:
            self.ids: list[int] = []
            self.ended = False

        def put(self, value: Tensor) -> None:
            self.ids += value.reshape(-1).tolist()

        def end(self) -> None:
            self.ended = True

    heard = Heard()
    whole = model.generate(**only(batch, 1), **GREEDY, streamer=heard)
    assert heard.ids == whole[0].tolist()
    assert heard.ended


@pytest.mark.parametrize("options", [GREEDY, BEAMS, SAMPLES])
def test_sources_are_read_once_per_reply(
    model: DialogueModel, batch: Batch, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    projected: list[tuple[int, int]] = []

    def noted(encode: Any) -> Any:
        return lambda self, name, *rest: (encoded.append(name), encode(self, name, *rest))[1]

    def counted(project: Any) -> Any:
        return lambda self, states: (projected.append((id(self), id(states))), project(self, states))[1]

    monkeypatch.setattr(type(model), "encode_source", noted(type(model).encode_source))
    for kind in (SourceAttention, BorrowedAttention, GlobalAttention):
        monkeypatch.setattr(kind, "project", counted(kind.project))
    reply(model, batch, **options)
    asking = [part for part in model.modules() if isinstance(part, Fusion) and part.uses_attention]
    assert sorted(encoded) == sorted(SOURCES)
    assert len(projected) == len(set(projected)) == len(asking) * len(SOURCES)


def test_a_memory_serves_many_replies(model: DialogueModel, batch: Batch) -> None:
    with torch.no_grad():
        memory = model.encode(batch["sources"])
    row = {name: batch[name] for name in ("input_ids", "attention_mask")}
    with counted_calls(list(model.encoders.values())) as encoded:
        greedy, beams = (model.generate(**row, memory=memory, **options) for options in (GREEDY, BEAMS))
    assert not encoded
    assert torch.equal(greedy, model.generate(**batch, **GREEDY))
    assert torch.equal(beams, model.generate(**batch, **BEAMS))


def test_a_memory_is_no_smaller_with_a_larger_batch_of_rows(model: DialogueModel, batch: Batch) -> None:
    """Rows per example may be any number: the full pass over three copies is that over one."""
    with torch.no_grad():
        memory = model.encode(batch["sources"])
        once = model(batch["input_ids"], batch["attention_mask"], memory=memory).logits
        ids, mask = (batch[name].repeat_interleave(3, 0) for name in ("input_ids", "attention_mask"))
        thrice = model(ids, mask, memory=memory).logits
    real = mask.bool()
    torch.testing.assert_close(thrice[real], once.repeat_interleave(3, 0)[real], **CLOSE)
