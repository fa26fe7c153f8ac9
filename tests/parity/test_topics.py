"""Parity of the topic inferrer with numbers recorded from the published one (Cai et al. 2019)."""

from pathlib import Path

import pytest
import torch

from personae.layers.topics import BagOfWords, TopicInferrer, annealed
from tests.parity import published_adand as published
from tests.parity.files import File, for_every_file

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
SPECIAL = 4
# Of the published code: middle and width of the annealing, in half-steps, and the weight of the diversity.
MIDDLE, WIDTH, DIVERSITY = 3500, 1000, 0.1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_every_file(metafunc, "adand", "topic*.safetensors")


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> File:
    return File.load(Path(request.param))


def bag(recording: File) -> BagOfWords:
    """The published map, in which special words have numbers but do not count."""
    places = recording.tensors["map.global_to_topic"]
    size = len(recording.tensors["w.Word_Matrix"])
    found = BagOfWords(len(places), size)
    found.topic_of.copy_(places.where(places >= SPECIAL, size))
    return found


def model(recording: File) -> TopicInferrer:
    theirs = published.below(recording.tensors, "w.")
    made = TopicInferrer("experts-published", **published.inferrer_sizes(theirs), sample=True)
    made.load_state_dict(published.inferrer(theirs))
    return made.eval()


def test_counts(recording: File) -> None:
    tensors, count = recording.tensors, bag(recording)
    context, reply = tensors["in.xs"], tensors["in.ys"]
    assert torch.equal(count(context, context != 0), tensors["mid.bow_x"])
    whole = torch.cat([context, reply], 1)
    assert torch.equal(count(whole, whole != 0), tensors["mid.bow_xy"])


def test_theta_of_a_context(recording: File, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, made = recording.tensors, model(recording)
    monkeypatch.setattr(made, "noise", lambda like: tensors["infer.eps_prior"])
    for name, part in (("prior", "bow_x"), ("post", "bow_xy")):
        net = made.prior if name == "prior" else made.posterior
        for found, end in zip(net(tensors[f"mid.{part}"]), ("mean", "logvar"), strict=True):
            torch.testing.assert_close(found, tensors[f"mid.{name}_{end}"], **CLOSE)
    torch.testing.assert_close(made.draw(*made.prior(tensors["mid.bow_x"])), tensors["infer.z"], **CLOSE)
    theta = made(tensors["mid.bow_x"])
    torch.testing.assert_close(theta, tensors["infer.theta"], **CLOSE)
    words = made.model.log_words(theta)
    torch.testing.assert_close(words, tensors["infer.word_logits"].log_softmax(-1), **CLOSE)


def test_losses_and_gradients(recording: File, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, made = recording.tensors, model(recording)
    monkeypatch.setattr(made, "noise", lambda like: tensors["train.eps_post"])
    found = made.losses(tensors["mid.bow_x"], tensors["mid.bow_xy"])
    weight = annealed(4000, MIDDLE, WIDTH)
    assert weight == pytest.approx(tensors["train.anneal_at_step_4000"].item(), abs=1e-6)
    diversity = made.model.diversity()
    for name, value in (("rec", found.words.mean()), ("kl", found.kl.mean()), ("div", diversity)):
        torch.testing.assert_close(value, tensors[f"train.{name}"], **CLOSE)
    loss = found.words.mean() + weight * found.kl.mean() + DIVERSITY * diversity
    torch.testing.assert_close(loss, tensors["train.loss"], **CLOSE)
    loss.backward()
    expected = published.inferrer(published.below(tensors, "grad_w."))
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        torch.testing.assert_close(parameter.grad, expected[name], **CLOSE)
