"""TransferTransfo (Wolf et al. 2019): the published layout of a row, ours, and the published filter of a sampler."""

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import TopKLogitsWarper, TopPLogitsWarper

from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.pack import Packer
from personae.text.tokenizer import load_tokenizer, train_tokenizer

BOS, EOS, ONE, TWO = 50257, 50258, 50260, 50261


@pytest.fixture(scope="module")
def recorded(pytestconfig: pytest.Config) -> dict[str, Any]:
    path = Path(pytestconfig.getoption("--reference")) / "multi-source" / "transfertransfo" / "build_input.json"
    if not path.is_file():
        pytest.skip(f"no recorded numbers in {path}")
    return dict(json.loads(path.read_text()))


def published(
    persona: Sequence[int], history: Sequence[Sequence[int]], reply: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Ids and types as published: marks alternate back from the reply, which is <speaker1>'s; types from the front."""
    said = [*history, [*reply, EOS]]
    marks = [ONE if (len(said) - at) % 2 else TWO for at in range(len(said))]
    parts = [[BOS, *persona], *([mark, *words] for mark, words in zip(marks, said, strict=True))]
    types = [kind for kind, part in zip(cycle((ONE, TWO)), parts, strict=False) for _ in part]
    return [token for part in parts for token in part], types


def test_published_rows(recorded: dict[str, Any], shared_data: Path) -> None:
    tokenizer = load_tokenizer(shared_data / "gpt2")

    def read(text: str) -> list[int]:
        return list(tokenizer(text)["input_ids"])

    for example in recorded["examples"]:
        persona = [token for sentence in example["persona"] for token in read(sentence)]
        history = [read(text) for text in example["history(max_history=2)"]]
        row = published(persona, history, read(example["candidate"]))
        assert row == (example["input_ids"], example["token_type_ids"])
        assert example["mc_token_ids"] == len(row[0]) - 1


def test_the_published_row_of_an_even_history_gives_the_reply_the_partners_type(recorded: dict[str, Any]) -> None:
    ids, types = (recorded["even_history_case"][name] for name in ("input_ids", "token_type_ids"))
    marks = [at for at, token in enumerate(ids) if token in (ONE, TWO)]
    persona, *said = ([*ids[one + 1 : two]] for one, two in zip([0, *marks], [*marks, len(ids)], strict=True))
    assert published(persona, said[:-1], said[-1][:-1]) == (ids, types)
    assert ids[marks[-1]] == ONE
    assert types[marks[-1]] == TWO


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_our_types_are_the_speakers_however_long_the_history(turns: int) -> None:
    """As published where the history is odd; else the published types are those of the other speaker."""
    texts = ("hello !", "hi .", "how are you ?", "fine .")[-turns:]
    roles = tuple(PARTNER if (turns - at) % 2 else SELF for at in range(turns))
    tokenizer = train_tokenizer(texts, 280)
    said = Dialogue({"persona": ("i bake .",), "context": texts}, "me too .", roles={"context": roles})
    budgets = {"persona": 50, "context": 90, "reply": 20}
    packed = Packer(tokenizer, (), ("persona", "context"), budgets, types="speakers")(said)
    mark = tokenizer.get_vocab()
    named = {mark["R:"]: ONE, mark["Q:"]: TWO, mark["P:"]: BOS}
    starts = [at for at, token in enumerate(packed.prompt) if token in (*named, mark["[BOS]"])]
    ours = [named[packed.prompt_types[at]] for at in starts]
    assert [named.get(packed.prompt[at], ONE) for at in starts[1:]] == ours[1:]
    assert ours[-1] == ours[0] == ONE
    theirs = published([1], [[2]] * turns, [3])[1]
    assert (ours[1:] == [theirs[2 + 2 * at] for at in range(turns + 1)]) == bool(turns % 2)


def test_transformers_filters_are_the_published_ones(recorded: dict[str, Any]) -> None:
    for case in recorded["top_filtering"]:
        logits = torch.tensor([case["logits"]])
        if case["top_k"]:
            logits = TopKLogitsWarper(case["top_k"])(None, logits)
        if case["top_p"]:
            logits = TopPLogitsWarper(case["top_p"])(None, logits)
        assert logits[0].isfinite().nonzero()[:, 0].tolist() == case["kept"]
