"""Our beam searches with tiny dialogue models, through ``generate``."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from personae.decoding import Decoding
from personae.decoding.adapter import CustomSearch
from personae.decoding.beam import beam_search
from personae.decoding.beam_published import published_beam_search
from personae.errors import UserError
from tests.helpers import BOS, EOS, PAD, Batch, batch_of, only, tiny_model

BOTH = (beam_search, published_beam_search)
CASES = ({"fusion": "paa"}, {"fusion": "sum", "variant": "share_encoder"})
NEW = 7
PLAIN = {"max_new_tokens": NEW, "do_sample": False, "num_beams": 3, "num_return_sequences": 3}


@pytest.fixture(scope="module", params=CASES, ids=str)
def model(request: pytest.FixtureRequest) -> Any:
    return tiny_model(**request.param)


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of(side="left")


def ours(alpha: float, search: Any = beam_search, **options: Any) -> dict[str, Any]:
    return {**PLAIN, "custom_generate": CustomSearch(search, alpha), **options}


@pytest.mark.parametrize(
    "options", [{}, {"eos_token_id": [EOS, *range(0, 36, 3)]}, {"num_beams": 5}, {"num_return_sequences": 1}]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_penalty_it_is_that_of_transformers(batch: Batch, options: dict[str, Any], seed: int) -> None:
    model = tiny_model(fusion="paa", seed=seed)
    told = {**options, "return_dict_in_generate": True}
    theirs = model.generate(**batch, **{**PLAIN, **told}, length_penalty=0.0, output_scores=True)
    found = model.generate(**batch, **ours(0.0, **told))
    assert torch.equal(found.sequences, theirs.sequences)
    torch.testing.assert_close(found.sequences_scores, theirs.sequences_scores)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_beams_score_what_they_return(model: Any, batch: Batch, alpha: float, use_cache: bool) -> None:
    told = {"return_dict_in_generate": True, "suppress_tokens": [PAD], "use_cache": use_cache}
    found = model.generate(**batch, **ours(alpha, **told))
    start = batch["input_ids"].shape[1]
    assert found.sequences.shape[0] == 9
    assert (found.sequences_scores.view(3, 3).diff(dim=1) <= 0).all()
    for row, (ids, score) in enumerate(zip(found.sequences, found.sequences_scores, strict=True)):
        reply = ids[start:][ids[start:] != PAD]
        assert (reply[:-1] != EOS).all()
        assert reply[-1] == EOS or len(reply) == NEW
        likelihood = logs(model, only(batch, row // 3), reply) / ((5 + len(reply)) / 6) ** alpha
        torch.testing.assert_close(likelihood, score, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def logs(model: Any, one: Batch, reply: Tensor) -> Tensor:
    """log P of a reply, read at once, where no token is padding."""
    whole = torch.cat([one["input_ids"], reply[None]], dim=1)
    logits = model(whole, sources=one["sources"]).logits[0, one["input_ids"].shape[1] - 1 : -1]
    return logits.log_softmax(-1).gather(1, reply[:, None]).sum()


def test_a_left_padded_batch_is_its_single_members(model: Any, batch: Batch) -> None:
    chosen = ours(0.6, num_return_sequences=1)
    start = batch["input_ids"].shape[1]
    together = model.generate(**batch, **chosen)[:, start:]
    for row in range(3):
        one = only(batch, row)
        single = model.generate(**one, **chosen)[0, one["input_ids"].shape[1] :]
        assert torch.equal(together[row, : len(single)], single)
        assert (together[row, len(single) :] == PAD).all()


@pytest.mark.parametrize("search", BOTH)
def test_logits_processors_are_asked(model: Any, batch: Batch, search: Any) -> None:
    class Only(LogitsProcessor):
        def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
            assert torch.equal(input_ids[:, :start], batch["input_ids"].repeat_interleave(3, 0))
            return scores.masked_fill(torch.arange(scores.shape[-1]) != 5 + input_ids.shape[1] - start, -torch.inf)

    start = batch["input_ids"].shape[1]
    chosen = ours(0.6, search, num_return_sequences=1, logits_processor=LogitsProcessorList([Only()]))
    found = model.generate(**batch, **chosen)[:, start:]
    expected = list(range(5, 5 + NEW)) if search is beam_search else list(range(5, 4 + NEW))
    assert found.tolist() == [expected] * 3


@pytest.mark.parametrize("search", BOTH)
def test_stopping_criteria_are_asked(model: Any, batch: Batch, search: Any) -> None:
    class Enough(StoppingCriteria):
        def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
            assert (input_ids[:, start - 1] == batch["input_ids"][:, -1].repeat_interleave(len(input_ids) // 3)).all()
            return torch.full((len(input_ids),), input_ids.shape[1] >= start + 2)

    start = batch["input_ids"].shape[1]
    chosen = ours(0.6, search, stopping_criteria=StoppingCriteriaList([Enough()]), eos_token_id=None)
    assert model.generate(**batch, **chosen).shape == (9, start + 2)


def test_settings_reach_the_search(model: Any, batch: Batch) -> None:
    told = Decoding(beams=3, copies=2, max_tokens=5, length_penalty=0.6).arguments(BOS, EOS, PAD)
    found = model.generate(**batch, **told)
    expected = model.generate(**batch, **ours(0.6, max_new_tokens=5, num_return_sequences=2))
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"output_scores": True}, "output_scores"),
        ({"early_stopping": True}, "early_stopping"),
        ({"length_penalty": 0.5}, "length_penalty"),
        ({"do_sample": True}, "sample"),
        ({"num_beams": 1, "num_return_sequences": 1}, "set num_beams"),
        ({"streamer": object()}, "streamer"),
    ],
)
def test_what_it_does_not_offer_is_an_error(model: Any, batch: Batch, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        model.generate(**batch, **ours(0.6, **options))
