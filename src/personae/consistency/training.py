"""Training a checker from random weights, and adopting one that was trained elsewhere."""

import platform
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

from personae._version import __version__
from personae.consistency.checker import Checker, first_line
from personae.consistency.exam import examine_all
from personae.consistency.labels import LABELS, order_of
from personae.consistency.pairs import Pair, Source
from personae.consistency.reading import KINDS, WINDOW, Marked, Paired, Row
from personae.errors import UserError
from personae.text.tokenizer import train_tokenizer

STEPS, BATCH, RATE, WARMUP = 3000, 64, 3e-3, 0.1
VOCABULARY = 3000
SIZE: Mapping[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.06,
}
_BUCKET = 32  # batches whose claims are sorted by length together

Tell = Callable[[str, int, int], None]


def train_checker(
    sources: Sequence[Source],
    out: Path,
    *,
    steps: int = STEPS,
    seed: int = 0,
    size: Mapping[str, Any] = SIZE,
    vocabulary: int = VOCABULARY,
    tell: Tell | None = None,
) -> Checker:
    """Train a small BERT from random weights on ``sources``, test it on what they hold out, save it to ``out``.

    The same sources, steps and seed give the same checker on the same machine. Raises ``UserError`` for sources
    without pairs to train on.
    """
    pairs = [pair for source in sources for pair in source.train]
    if not pairs:
        raise UserError("no pair to train on: give --nli FILE, or --conversations 1 or more")
    if steps < 1:
        raise UserError(f"--steps {steps}: train for 1 step or more")
    tokenizer = train_tokenizer((text.lower() for pair in pairs for text in pair.claim), vocabulary)
    reading = Marked(tokenizer)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = make_model(len(tokenizer), int(tokenizer.pad_token_id), size)
        checker = Checker(model, reading)
        fit(checker, pairs, steps, seed, tell)
    checker.about = {
        "reading": {"kind": reading.name},
        "held_out": examine_all(checker, sets_of(sources)),
        "data": [source.about for source in sources],
        "training": {"steps": steps, "batch": BATCH, "seed": seed, "pairs": len(pairs)},
        "versions": versions(),
    }
    checker.save(out)
    return checker


def adopt_checker(
    where: str, names: Mapping[str, str], sets: Mapping[str, Sequence[Pair]], out: Path, question: bool = False
) -> Checker:
    """Take a sequence classifier of transformers (folder or hub name), test it on ``sets``, save it to ``out``.

    Its labels must be three that ``names`` maps to ours. ``question``: it reads the question before the reply.
    Raises ``UserError`` for what cannot be read (weights other than safetensors among it) or has other labels.
    """
    try:
        model = AutoModelForSequenceClassification.from_pretrained(where, use_safetensors=True)
        tokenizer = AutoTokenizer.from_pretrained(where)
    except Exception as error:  # the libraries raise errors of every kind
        raise UserError(
            f"no sequence classifier with safetensors weights in '{where}' ({first_line(error)})"
        ) from error
    config = model.config
    order = order_of([config.id2label[at] for at in range(config.num_labels)], names, where)
    window = min(int(getattr(config, "max_position_embeddings", 512)) - 2, 512)
    checker = Checker(model, Paired(tokenizer, question, window), order)
    checker.about = {
        "reading": {"kind": Paired.name, "question": question, "window": window},
        "held_out": examine_all(checker, sets),
        "adopted": Path(where).name if Path(where).exists() else where,
        "versions": versions(),
    }
    checker.save(out)
    return checker


def make_model(vocabulary: int, pad: int, size: Mapping[str, Any] = SIZE) -> BertForSequenceClassification:
    """A small BERT with random weights."""
    labels = dict(enumerate(LABELS))
    config = BertConfig(
        vocab_size=vocabulary,
        pad_token_id=pad,
        max_position_embeddings=WINDOW,
        type_vocab_size=KINDS,
        id2label=labels,
        label2id={label: at for at, label in labels.items()},
        **size,
    )
    return BertForSequenceClassification(config)


def fit(checker: Checker, pairs: Sequence[Pair], steps: int, seed: int, tell: Tell | None) -> None:
    """Train the model of ``checker``: AdamW, linear warm-up and decay."""
    model = checker.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    rise = max(1, int(WARMUP * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rise, (steps - step) / max(1, steps - rise))
    )
    rows = [(checker.reading.row(pair.claim), LABELS.index(pair.label)) for pair in pairs]
    for step, some in zip(range(steps), endless(rows, seed), strict=False):
        batch = checker.reading.batch([row for row, _ in some])
        labels = torch.tensor([label for _, label in some])
        loss = model(
            **{key: each.to(checker.device) for key, each in batch.items()}, labels=labels.to(checker.device)
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if tell:
            tell("training", step + 1, steps)
    model.eval()


def endless(rows: Sequence[tuple[Row, int]], seed: int) -> Iterator[list[tuple[Row, int]]]:
    """Batches without end, shuffled anew in every epoch, each of claims of like length."""
    generator, order = random.Random(seed), list(range(len(rows)))
    while True:
        generator.shuffle(order)
        for start in range(0, len(order), BATCH * _BUCKET):
            near = sorted(order[start : start + BATCH * _BUCKET], key=lambda at: len(rows[at][0]["input_ids"]))
            batches = [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
            generator.shuffle(batches)
            yield from ([rows[at] for at in each] for each in batches)


def sets_of(sources: Sequence[Source]) -> dict[str, Sequence[Pair]]:
    """What the sources hold out, by name; two files of one name are told apart by a number."""
    sets: dict[str, Sequence[Pair]] = {}
    for source in sources:
        for name, pairs in source.held_out.items():
            sets[name if name not in sets else f"{name}-{len(sets)}"] = pairs
    return sets


def versions() -> dict[str, str]:
    """What the checker was made with."""
    libraries = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
    return {"personae": __version__, "python": platform.python_version(), **libraries}
