"""The topic inferrer against its formulas."""

import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from personae.errors import UserError
from personae.layers.topics import BagOfWords, TopicInferrer, TopicModel, annealed, topic_words
from personae.layers.topics.inferrer import divergence
from tests.helpers import shake

WORDS, TOPICS = 7, 3


def inferrer(kind: str = "mixture", sample: bool = False, topics: int = TOPICS) -> TopicInferrer:
    torch.manual_seed(0)
    made = TopicInferrer(kind, WORDS, topics, latent=4, width=5, hidden=(6, 3), dropout=0.1, sample=sample)
    made.initialise()
    return shake(made).eval()


@pytest.fixture(params=TopicModel.names())
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_bag_counts_topic_words_and_no_padding():
    bag = BagOfWords(6, 2)
    bag.choose([4, 1])
    ids = torch.tensor([[4, 1, 4, 0], [4, 5, 5, 5]])
    mask = torch.tensor([[True, True, True, True], [True, True, False, False]])
    assert bag(ids, mask).tolist() == [[2, 1], [1, 0]]
    assert bag(ids.masked_fill(~mask, 4), mask).tolist() == [[2, 1], [1, 0]]


def test_a_bag_without_a_choice_has_the_first_words():
    bag = BagOfWords(6, 2, special=[0])
    assert bag(torch.tensor([[0, 1, 2, 3]]), torch.ones(1, 4).bool()).tolist() == [[1, 1]]


def test_topic_words_are_whole_words_that_are_neither_rare_nor_everywhere():
    tokens = ["[PAD]", "Ġthe", "Ġdog", "Ġ,", "gy", "Ġcat", "Ġowl", "Ġa", "Ġfox"]
    rows = [[1, 2, 3, 4, 5, 7], [1, 2, 4, 5, 7], [1, 5, 7, 3], [1, 6, 8, 7], [1, 8, 4, 3]]
    assert topic_words(rows, tokens, 10, most=0.7) == [2, 5, 8]
    assert topic_words(rows, tokens, 1, most=0.7) == [5]
    assert topic_words(rows, tokens, 10, most=1.0) == [1, 2, 5, 8]


def test_no_topic_word_is_said():
    with pytest.raises(UserError, match=r"topic vocabulary is empty: no word stands in 2 of the 2 .*topic_most"):
        topic_words([[0], [0]], ["Ġthe"], 10, most=0.5)


def test_shares_are_shares_and_words_are_probabilities(kind):
    made = inferrer(kind)
    theta = made(torch.rand(4, WORDS))
    assert (theta > 0).all()
    torch.testing.assert_close(theta.sum(-1), torch.ones(4))
    assert not torch.allclose(theta[0], theta[1])
    torch.testing.assert_close(made.model.log_words(theta).exp().sum(-1), torch.ones(4))


def test_the_posters_words_are_a_mixture():
    made = inferrer().model
    theta = torch.tensor([[0.2, 0.0, 0.8]])
    beta = (made.topic_vectors @ made.word_vectors.mT).softmax(-1)
    torch.testing.assert_close(made.log_words(theta).exp(), theta @ beta)


@pytest.mark.parametrize(("topics", "most"), [(5, 0.753), (3, 0.807)])
def test_no_released_share_exceeds_its_bound(topics, most):
    made = inferrer("experts-published", topics=topics).model
    made.narrow.weight.data.mul_(100)
    theta = made.shares(100 * torch.randn(500, 4))
    assert most - 0.02 < theta.max() < most + 0.0005


def test_the_latent_is_its_mean_at_evaluation_unless_told(kind):
    counts = torch.rand(2, WORDS)
    made, drawn = inferrer(kind), inferrer(kind, sample=True)
    assert torch.equal(made(counts), made(counts))
    assert not torch.equal(drawn(counts), drawn(counts))
    assert not torch.equal(made.train()(counts), made(counts))


def test_losses_are_those_of_their_formulas(kind):
    made, context = inferrer(kind), torch.tensor([[2.0, 0, 1, 0, 0, 0, 0], [0] * WORDS])
    whole = context + torch.tensor([[0.0, 0, 0, 0, 1, 0, 3], [0] * WORDS])
    found = made.losses(context, whole)
    (mean, spread), (centre, width) = made.posterior(whole), made.prior(context)
    expected = kl_divergence(Normal(mean, (spread / 2).exp()), Normal(centre, (width / 2).exp())).sum(-1)
    torch.testing.assert_close(found.kl, expected)
    log_words = made.model.log_words(made.model.shares(mean))
    torch.testing.assert_close(found.words, -(whole * log_words).sum(-1))
    assert found.words[1] == 0


def test_a_gaussian_is_not_apart_from_itself():
    one = torch.randn(2, 3), torch.randn(2, 3)
    assert divergence(one, one).tolist() == [0, 0]


def test_diversity_falls_as_topics_part():
    model = inferrer().model
    same = torch.ones(TOPICS, 5)
    model.topic_vectors.data = same
    near = model.diversity().item()
    model.topic_vectors.data = torch.eye(5)[:TOPICS]
    angles = torch.tensor([math.pi / 2] * 6 + [math.acos(1 - 1e-5)] * 3)
    assert model.diversity().item() == pytest.approx((angles.var(correction=0) - angles.mean()).item(), rel=1e-3)
    assert model.diversity().item() < near
    model.topic_vectors.data = -torch.eye(5)[:TOPICS]
    model.topic_vectors.requires_grad_()
    model.diversity().backward()
    assert model.topic_vectors.grad.isfinite().all()


def test_the_annealing_passes_a_half_in_the_middle():
    assert annealed(1750, 1750, 500) == 0.5
    assert annealed(0, 1750, 500) == pytest.approx((math.tanh(-3.5) + 1) / 2)
    assert annealed(0, 0, 1) == 1


def test_one_topic_is_none():
    with pytest.raises(UserError, match="2 topics or more"):
        inferrer(topics=1)
