from dataclasses import replace

import pytest
import torch

from personae.text.collate import Collator
from personae.text.pack import Packed

PAD = 9
BATCH = [
    Packed({"persona": [1, 2], "context": [3]}, {}, prompt=[1, 2, 7], reply=[4, 5, 8]),
    Packed({"persona": [1], "context": [3, 4, 5]}, {}, prompt=[1, 7], reply=[8]),
]


def test_right_padding():
    batch = Collator(PAD)(BATCH)
    assert batch["input_ids"].tolist() == [[1, 2, 7, 4, 5, 8], [1, 7, 8, 9, 9, 9]]
    assert batch["attention_mask"].int().tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]
    assert batch["labels"].tolist() == [[-100, -100, -100, 4, 5, 8], [-100, -100, 8, -100, -100, -100]]
    assert batch["sources"]["persona"]["input_ids"].tolist() == [[1, 2], [1, 9]]
    assert batch["sources"]["context"]["input_ids"].tolist() == [[3, 9, 9], [3, 4, 5]]
    assert batch["sources"]["context"]["attention_mask"].int().tolist() == [[1, 0, 0], [1, 1, 1]]


def test_left_padding():
    batch = Collator(PAD, side="left")(BATCH)
    assert batch["input_ids"].tolist() == [[1, 2, 7, 4, 5, 8], [9, 9, 9, 1, 7, 8]]
    assert batch["labels"].tolist() == [[-100, -100, -100, 4, 5, 8], [-100, -100, -100, -100, -100, 8]]
    assert batch["sources"]["persona"]["attention_mask"].int().tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("side", ["left", "right"])
def test_prompts_end_with_the_begin_token_on_the_right_edge(side):
    batch = Collator(PAD, side=side).prompts(BATCH)
    assert batch["input_ids"].tolist() == [[1, 2, 7], [9, 1, 7]]
    assert batch["attention_mask"].int().tolist() == [[1, 1, 1], [0, 1, 1]]
    assert batch["sources"]["context"]["input_ids"].tolist() == [[9, 9, 3], [3, 4, 5]]
    assert "labels" not in batch


def test_a_pad_token_inside_a_text_is_real():
    ids, mask = Collator(PAD).pad_rows([[9, 1], [1]], PAD)
    assert ids.tolist() == [[9, 1], [1, 9]]
    assert mask.int().tolist() == [[1, 1], [1, 0]]


def test_a_model_without_sources_gets_none():
    alone = [Packed({}, {}, prompt=[7], reply=[4, 8])]
    assert Collator(PAD)(alone)["sources"] == {}


def test_ids_are_long_and_masks_are_bool():
    batch = Collator(PAD)(BATCH)
    assert batch["input_ids"].dtype == batch["labels"].dtype == torch.long
    assert batch["attention_mask"].dtype == torch.bool


TYPED = [
    Packed(
        {"context": [3, 4, 5]},
        {"context": [-1, 0, 1]},
        prompt=[1, 7],
        reply=[5, 8],
        types={"context": [2, 2, 6]},
        prompt_types=[2, 6],
    ),
    Packed({"context": [3]}, {"context": [0]}, [7], [8], {"context": [6]}, [6]),
]


def test_types_stand_beside_all_ids():
    """The reply's are that of the begin token; padding is a type too, and masked."""
    batch = Collator(PAD)(TYPED)
    assert batch["token_type_ids"].tolist() == [[2, 6, 6, 6], [6, 6, 9, 9]]
    assert batch["token_type_ids"].shape == batch["input_ids"].shape
    assert batch["sources"]["context"]["token_type_ids"].tolist() == [[2, 2, 6], [6, 9, 9]]
    prompts = Collator(PAD).prompts(TYPED)
    assert prompts["token_type_ids"].tolist() == [[2, 6], [9, 6]]
    assert prompts["sources"]["context"]["token_type_ids"].tolist() == [[2, 2, 6], [9, 9, 6]]


def test_without_types_there_are_none():
    batch = Collator(PAD)(BATCH)
    assert "token_type_ids" not in batch
    assert "token_type_ids" not in batch["sources"]["context"]


@pytest.mark.parametrize(
    ("side", "expected"), [("right", [[-100, 4, 5], [3, -100, -100]]), ("left", [[-100, 4, 5], [-100, -100, 3]])]
)
def test_labels_of_sources_are_their_words(side, expected):
    batch = Collator(PAD, side=side, source_labels=True)(TYPED)
    assert batch["sources"]["context"]["labels"].tolist() == expected
    assert "labels" not in Collator(PAD, side=side)(TYPED)["sources"]["context"]
    assert "labels" not in Collator(PAD, source_labels=True).prompts(TYPED)["sources"]["context"]


RANKED = [
    replace(TYPED[0], candidates=[[4, 8], [5, 8], [8]], gold=1),
    replace(TYPED[1], candidates=[[8], [1, 2, 8], [3, 8]], gold=0),
]


def test_candidates_are_rows_of_prompt_and_reply():
    batch = Collator(PAD)(RANKED)
    candidates = batch["candidates"]
    assert candidates["labels"].tolist() == [1, 0]
    assert candidates["input_ids"].tolist() == [
        [[1, 7, 4, 8], [1, 7, 5, 8], [1, 7, 8, 9]],
        [[7, 8, 9, 9], [7, 1, 2, 8], [7, 3, 8, 9]],
    ]
    assert candidates["attention_mask"].int().sum(-1).tolist() == [[4, 4, 3], [2, 4, 3]]
    assert candidates["token_type_ids"].tolist()[1] == [[6, 6, 9, 9], [6, 6, 6, 6], [6, 6, 6, 9]]
    assert batch["input_ids"].tolist() == Collator(PAD)(TYPED)["input_ids"].tolist()


def test_candidates_are_padded_on_their_side():
    candidates = Collator(PAD, side="left")(RANKED)["candidates"]
    assert candidates["input_ids"][0, 2].tolist() == [9, 1, 7, 8]
    assert candidates["attention_mask"][0, 2].int().tolist() == [0, 1, 1, 1]


def test_without_candidates_there_are_none():
    assert "candidates" not in Collator(PAD)(TYPED)
    assert "candidates" not in Collator(PAD).prompts(RANKED)
