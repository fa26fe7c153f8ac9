"""A checker that is trained in seconds."""

from personae.consistency import Checker, make_pairs, train_checker
from personae.consistency.pairs import Source

SIZE = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.06,
}


def source(conversations: int = 60) -> Source:
    return Source(make_pairs("train", conversations), {"unseen": make_pairs("unseen_combinations", 10)})


def train(out, steps: int = 60, seed: int = 0) -> Checker:
    return train_checker([source()], out, steps=steps, seed=seed, size=SIZE, vocabulary=400)
