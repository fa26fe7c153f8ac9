"""The argmax under the gold reply, laid out as the published code lays it out."""

import json
from types import SimpleNamespace

import pytest
import torch

from personae.data.load import load
from personae.evaluation.forced import force
from personae.evaluation.speaker import Speaker
from personae.metrics import Metric, Reply
from personae.runs import Run
from personae.text.collate import Collator
from personae.text.pack import Packed
from tests.helpers import BOS, EOS, PAD, tiny_model
from tests.parity.published_paa import Recording, padded_positions


def packed(reply: list[int]) -> Packed:
    return Packed({"persona": [5, 6], "context": [8, 9, 10]}, {}, [5, 6, BOS], [*reply, EOS])


@torch.no_grad()
@pytest.mark.parametrize("name", ["fused", "seq2seq", "hosted"])
def test_a_row_is_what_the_model_answers_to_the_padded_row(name: str) -> None:
    model, given = tiny_model(name, "sum"), [packed([1, 2, 3]), packed([4]), packed([7, 1])]
    found = list(force(SimpleNamespace(model=model, collate=Collator(PAD), move=lambda batch: batch), given))
    assert [each.gold for each in found] == [(1, 2, 3, EOS), (4, EOS, PAD, PAD), (7, 1, EOS, PAD)]
    for one, said in zip(given, found, strict=True):
        row = [*one.prompt, *said.gold]
        mask = torch.tensor([[token != PAD for token in row]])
        logits = model(torch.tensor([row]), attention_mask=mask, sources=Collator(PAD).sources([one])).logits[0]
        assert said.predicted == tuple(logits[len(one.prompt) - 1 : -1].argmax(-1).tolist())


def test_four_at_a_time_in_file_order() -> None:
    given = [packed([1] * length) for length in (1, 2, 3, 1, 6)]
    made = SimpleNamespace(model=tiny_model(), collate=Collator(PAD), move=lambda batch: batch)
    assert [len(each.gold) for each in force(made, given)] == [4, 4, 4, 4, 7]


@torch.no_grad()
@pytest.mark.parametrize("name", ["pr-cr", "pr-cr.tau_persona", "direct_sum"])
def test_the_published_models_answers(reference, name: str) -> None:
    """Our model with the recorded weights finds the recorded ids likeliest, at padding too."""
    found = json.loads((reference / "paa" / "metrics.json").read_text())["tiny"][name]
    recording = Recording.load(reference / "paa" / f"{name}.safetensors")
    ids, mask, _ = recording.row()
    logits = recording.model()(
        ids, attention_mask=mask, position_ids=padded_positions(ids), sources=recording.sources()
    ).logits
    width = len(found["labels"][0])
    assert logits[:, -width - 1 : -1].argmax(-1).tolist() == found["argmax"]
    assert ids[:, -width:].tolist() == found["labels"]


def test_a_trained_run(tiny_run) -> None:
    run = Run(tiny_run)
    speaker, dialogues = Speaker(run, run.recipe().decoding), load([tiny_run / "data" / "valid.jsonl"]).dialogues[:6]
    given = speaker.pack(dialogues)
    found = list(force(speaker, given))
    assert [each.gold[: len(one.reply)] for each, one in zip(found, given, strict=True)] == [
        tuple(one.reply) for one in given
    ]
    replies = [Reply("", ("x",), forced=each) for each in found]
    score = Metric.build("paa_teacher_forced_macro_f1").measure(replies)
    assert f"|positions:{sum(len(each.gold) for each in found)}|" in score.signature
