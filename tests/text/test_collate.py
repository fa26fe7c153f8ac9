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
