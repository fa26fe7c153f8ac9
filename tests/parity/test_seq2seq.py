"""Parity with numbers recorded from the published seq2seq baseline (Cao et al. 2020). Keys: see the files' README.

The published convolutions read padding as if it were words, so that it changes results; ours do not. Where a recorded
batch has padding, the comparison lets them read it too.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from personae.decoding.adapter import CustomSearch
from personae.decoding.beam_published import published_beam_search
from personae.models import Seq2seqConfig, Seq2seqModel
from personae.models.seq2seq import network
from personae.models.seq2seq.layers import Convolutions
from tests.parity.files import File, for_every_file

# Of the recorded search; a reply that has not ended loses its last token.
BEAMS, MOST, LENGTH_PENALTY = 3, 12, 0.6
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
# The published input -> our source, and the published fusion -> ours.
INPUTS = {"source": "context", "persona": "persona", "history": "context"}
FUSIONS = {"mean": "mean", "sw": "source-weight-published"}
RENAMED = (
    (r"^embedding\.", "words."),
    (r"^generator\.proj\.bias", "head_bias"),
    (r"^generator\.p_gen_linear", "pointer.gate"),
    (r"^encoder\.", "encoders.shared."),
    (r"\.(enc|dec)\.(\d+)\.", r".blocks.\2."),
    (r"embedding_proj", "project"),
    (r"layer_norm_mha_enc", "asks.0.norm"),
    (r"layer_norm_mha(_dec)?\.", "ln_1."),
    (r"layer_norm_ffn", "ln_2"),
    (r"layer_norm\.", "norm."),
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
    (r"positionwise_feed_forward\.layers\.0\.conv", "mlp.up"),
    (r"positionwise_feed_forward\.layers\.1\.conv", "mlp.down"),
    (r"multi_head_attention_enc_dec\.query_linear", "asks.0.attention.q_attn"),
    (r"multi_head_attention_enc_dec", "asks.0.attention"),
    (r"multi_head_attention(_dec)?\.", "attn."),
    (r"output_linear", "c_proj"),
)
# Ours are one matrix: query, key and value, below each other.
JOINED = ("query_linear", "key_linear", "value_linear")


class Recording(File):
    """One file: tensors by key, and the facts in its metadata."""

    @property
    def sources(self) -> dict[str, dict[str, Tensor]]:
        found = {ours: self.tensors[f"in.{name}"] for name, ours in INPUTS.items() if f"in.{name}" in self.tensors}
        return {name: {"input_ids": ids, "attention_mask": self.mask(ids)} for name, ids in found.items()}

    def mask(self, ids: Tensor) -> Tensor:
        return (ids != self.number("pad")).long()

    @property
    def target(self) -> dict[str, Tensor]:
        """What the decoder is fed, from its first token on."""
        ids = self.tensors["in.target"]
        return {"input_ids": ids, "attention_mask": self.mask(ids)}

    @property
    def labels(self) -> Tensor:
        labels = self.tensors["in.target"].masked_fill(self.target["attention_mask"] == 0, -100)
        labels[:, 0] = -100
        return labels

    def config(self) -> Seq2seqConfig:
        sizes = {"hidden_size": "hidden", "num_hidden_layers": "layers", "num_attention_heads": "heads"}
        sizes |= {"depth": "depth", "filter_size": "filter", "vocab_size": "vocab"}
        sizes |= {f"{name}_token_id": name for name in ("bos", "eos", "pad")}
        several = len(self.sources) > 1
        return Seq2seqConfig(
            sources=list(self.sources),
            fusion={"name": FUSIONS[self.facts["fusion"]] if several else "sum"},
            share_encoder=True,
            pointer=self.facts["pointer"] == "True",
            **{ours: self.number(theirs) for ours, theirs in sizes.items()},
        )

    def model(self) -> Seq2seqModel:
        model = Seq2seqModel(self.config()).eval()
        missing, unexpected = model.load_state_dict(self.parameters(), strict=False)
        if len(self.sources) > 1 and (missing or unexpected):
            pytest.skip(f"keys for several sources that are not ours: {(missing + unexpected)[:3]}")
        assert not unexpected, unexpected
        assert not missing, missing
        return model

    def parameters(self) -> dict[str, Tensor]:
        """The published parameters in our names and layout; the head is tied to the words."""
        theirs = {key.removeprefix("w."): value for key, value in self.tensors.items() if key.startswith("w.")}
        assert torch.equal(theirs.pop("generator.proj.weight"), theirs["embedding.weight"])
        if self.facts["pointer"] != "True":  # there, but never asked
            theirs = {key: value for key, value in theirs.items() if "p_gen" not in key}
        ours: dict[str, Tensor] = {}
        for part in (None, *JOINED):
            for key, value in theirs.items():
                name = renamed(key)
                if part is None and not any(each in name for each in JOINED):
                    ours[name] = value
                elif part is not None and part in name:
                    name = name.replace(part, "c_attn")
                    ours[name] = torch.cat([ours[name], value]) if name in ours else value
        return ours


def renamed(name: str) -> str:
    for old, new in RENAMED:
        name = re.sub(old, new, name)
    return name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "multi-source", "seq2seq_*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Recording:
    return Recording.load(request.param)


@pytest.fixture
def padding_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding has positions of its own, and convolutions read it."""
    forward: Callable[..., Tensor] = Convolutions.forward

    def reads_all(self: Convolutions, states: Tensor, real: Tensor, *rest: Any) -> Tensor:
        return forward(self, states, torch.ones_like(real), *rest)

    monkeypatch.setattr(Convolutions, "forward", reads_all)
    monkeypatch.setattr(network, "positions", lambda mask: torch.arange(mask.shape[1]).expand_as(mask))


@torch.no_grad()
def test_log_probabilities_and_loss(recording: Recording, padding_as_published: None) -> None:
    model = recording.model()
    found = model(**recording.target, sources=recording.sources).logits.log_softmax(-1)
    real = recording.target["attention_mask"].bool()
    torch.testing.assert_close(found[real], recording.tensors["out.logprobs"][real], **CLOSE)
    output = model(**recording.target, sources=recording.sources, labels=recording.labels)
    torch.testing.assert_close(output.loss, recording.tensors["out.loss"], **CLOSE)


@torch.no_grad()
def test_rows_without_padding_need_nothing_published(recording: Recording) -> None:
    model, sources, target = recording.model(), recording.sources, recording.target
    whole = torch.stack([source["attention_mask"].all(-1) for source in sources.values()]).all(0)
    assert whole.any()
    found = model(
        **{key: value[whole] for key, value in target.items()},
        sources={name: {key: value[whole] for key, value in source.items()} for name, source in sources.items()},
    )
    real = target["attention_mask"][whole].bool()
    expected = recording.tensors["out.logprobs"][whole]
    torch.testing.assert_close(found.logits.log_softmax(-1)[real], expected[real], **CLOSE)


def test_the_published_search_gives_the_recorded_replies(recording: Recording, padding_as_published: None) -> None:
    """It starts from the speaker's token, as in training, and runs through our cache."""
    found = recording.model().generate(
        torch.full((len(recording.tensors["in.target"]), 1), recording.number("talker1")),
        sources=recording.sources,
        num_beams=BEAMS,
        max_new_tokens=MOST,
        custom_generate=CustomSearch(published_beam_search, LENGTH_PENALTY),
    )
    ends = {recording.number("eos"), recording.number("pad")}
    replies = [[token for token in reply if token not in ends] for reply in found[:, 1:].tolist()]
    assert replies == [recording.tensors[f"out.beam_predict.{row}"].tolist() for row in range(len(replies))]
