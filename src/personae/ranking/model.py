"""Rankers that ask a model: how likely it finds a reply, or what its candidate head says of one.

Sources are encoded once per dialogue; its candidates are read some at a time, those of like length together.
"""

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from personae.errors import UserError
from personae.layers.memory import Memory
from personae.models import DialogueModel
from personae.ranking.base import Question, Ranker
from personae.text.collate import IGNORED, Collator, types_of
from personae.text.pack import Packed, Packer

TOGETHER = 5  # candidates of a dialogue that are read at once
HEADLESS = (
    "this model has no candidate head: rank with --candidates likelihood, or train a head first, with "
    "model.options.candidate_head=binary, train.candidates=20 and train.start_from=RUN"
)


@dataclass(frozen=True)
class Asked:
    """A batch of dialogues: their encoded sources, and their prompts up to the begin token, read once.

    prompts: ``input_ids`` and ``attention_mask`` (B, T) padded on the left; cache: of all but the begin token.
    """

    memory: Memory
    prompts: Mapping[str, Any]
    cache: Cache | None = None


class ModelRanker(Ranker):
    """A model's opinion of candidates, in float32 as it is given; ``batch`` dialogues at once change no result."""

    def __init__(self, model: DialogueModel, packer: Packer, batch: int = 64) -> None:
        self.model: Any = model
        self.packer, self.batch = packer, batch
        self.collate = Collator(int(packer.tokenizer.pad_token_id))
        self.end = [] if model.candidate_end is None else [packer.tokenizer.get_vocab()[model.candidate_end]]

    @abstractmethod
    def ask(self, packed: Sequence[Packed]) -> Asked:
        """Read what the candidates of each dialogue share."""

    @abstractmethod
    def judge(self, asked: Asked, packed: Sequence[Packed]) -> Tensor:
        """(B, C) scores of the candidates that ``packed`` holds, equally many of each dialogue."""

    @torch.inference_mode()
    def scores(self, questions: Sequence[Question]) -> list[Sequence[float]]:
        """See ``Ranker.scores``. Raises ``UserError`` for a candidate that the decoder has no room for."""
        packed = [self.pack(question) for question in questions]
        found: dict[int, Sequence[float]] = {}
        for batch in alike(packed, self.batch):
            found |= zip(batch, self.score([packed[at] for at in batch]), strict=True)
        return [found[at] for at in range(len(packed))]

    def score(self, packed: Sequence[Packed]) -> list[list[float]]:
        """Scores of one batch of dialogues with equally many candidates."""
        asked = self.ask(packed)
        orders = [by_length(each.candidates or []) for each in packed]
        parts = []
        for start in range(0, len(orders[0]), TOGETHER):
            chosen = [order[start : start + TOGETHER] for order in orders]
            parts.append(self.judge(asked, [only(*pair) for pair in zip(packed, chosen, strict=True)]))
        rows = torch.cat(parts, dim=1).double().tolist()
        return [
            [score for _, score in sorted(zip(order, row, strict=True))]
            for order, row in zip(orders, rows, strict=True)
        ]

    def pack(self, question: Question) -> Packed:
        """The dialogue's sources and prompt, and its candidates with their end tokens, none cut."""
        packed = self.packer.pack_sources(question.dialogue)
        eos = int(self.packer.tokenizer.eos_token_id)
        rows = [[*self.packer.encode(text), eos, *self.end] for text in question.candidates]
        room, longest = self.model.window["decoder"] - len(packed.prompt), max(map(len, rows))
        if longest > room:
            raise UserError(
                f"{question.dialogue.conversation or 'a dialogue'}: a candidate has {longest} tokens, the decoder has "
                f"room for {room}: take it out of the data, or train with more model.options.decoder.n_positions"
            )
        return replace(packed, candidates=rows)

    def move(self, batch: Any) -> Any:
        """``batch`` on the model's device."""
        if isinstance(batch, Tensor):
            return batch.to(self.model.device)
        return {name: self.move(value) for name, value in batch.items()}


@Ranker.register("likelihood")
class Likelihood(ModelRanker):
    """Nats per token of a candidate, end token included, the fewest first: ParlAI's rule for generators."""

    def __init__(self, model: DialogueModel, packer: Packer, batch: int = 64) -> None:
        super().__init__(model, packer, batch)
        self.end = []  # what follows an end token is the head's

    def ask(self, packed: Sequence[Packed]) -> Asked:
        """Sources, and all of the prompt but its begin token, which predicts the first token of each candidate."""
        prompts = self.move(self.collate.prompts(packed))
        memory = self.model.encode(prompts.pop("sources"))
        cache = None
        if prompts["input_ids"].shape[1] > 1:
            read = {name: each[:, :-1] for name, each in prompts.items()}
            cache = self.model(**read, memory=memory, use_cache=True, logits_to_keep=1).past_key_values
        return Asked(memory, prompts, cache)

    def judge(self, asked: Asked, packed: Sequence[Packed]) -> Tensor:
        """See ``ModelRanker.judge``."""
        rows = [(each, row) for each in packed for row in each.candidates or []]
        begin = int(self.packer.tokenizer.bos_token_id)
        ids, mask = self.collate.pad_rows([[begin, *row] for _, row in rows], self.collate.pad)
        labels, _ = self.collate.pad_rows([[IGNORED, *row] for _, row in rows], IGNORED)
        kinds = [types_of(each, len(each.prompt) + len(row)) for each, row in rows]
        types = self.collate.types([kind and kind[-1 - len(row) :] for kind, (_, row) in zip(kinds, rows, strict=True)])
        copies = len(rows) // len(packed)
        before = asked.prompts["attention_mask"][:, :-1].repeat_interleave(copies, 0)
        batch = self.move({"input_ids": ids, "labels": labels, **types})
        batch["attention_mask"] = torch.cat([before, self.move(mask)], dim=1)
        nll: Tensor = self.model(**batch, memory=asked.memory, past_key_values=repeated(asked.cache, copies)).nll
        tokens = (batch["labels"] != IGNORED).sum(-1)
        mean: Tensor = -nll.double().sum(-1) / tokens
        return mean.view(len(packed), -1)


@Ranker.register("head")
class Head(ModelRanker):
    """The score of a model's candidate head (Huang et al. 2023, Eq. 9; Wolf et al. 2019)."""

    def __init__(self, model: DialogueModel, packer: Packer, batch: int = 64) -> None:
        if not model.ranks:
            raise UserError(HEADLESS)
        super().__init__(model, packer, batch)

    def ask(self, packed: Sequence[Packed]) -> Asked:
        """Sources; the head reads each row whole."""
        prompts = self.move(self.collate.prompts(packed))
        return Asked(self.model.encode(prompts.pop("sources")), prompts)

    def judge(self, asked: Asked, packed: Sequence[Packed]) -> Tensor:
        """See ``ModelRanker.judge``."""
        candidates = self.move(self.collate.candidates(packed))["candidates"]
        del candidates["labels"]  # the place of the gold one, which nobody knows here
        output = self.model(**asked.prompts, memory=asked.memory, candidates=candidates, logits_to_keep=1)
        return cast(Tensor, output.choice_logits)


def alike(packed: Sequence[Packed], size: int) -> Iterator[list[int]]:
    """Positions in batches of equally many candidates and like lengths."""

    def count(at: int) -> int:
        return len(packed[at].candidates or [])

    order = sorted(range(len(packed)), key=lambda at: (count(at), packed[at].length))
    for _, same in groupby(order, key=count):
        places = list(same)
        yield from (places[start : start + size] for start in range(0, len(places), size))


def by_length(rows: Sequence[list[int]]) -> list[int]:
    """Places of rows, the shortest first."""
    return sorted(range(len(rows)), key=lambda at: len(rows[at]))


def only(packed: Packed, places: Sequence[int]) -> Packed:
    """``packed`` with the candidates at ``places``."""
    assert packed.candidates is not None
    return replace(packed, candidates=[packed.candidates[at] for at in places])


def repeated(cache: Cache | None, copies: int) -> Cache | None:
    """A copy of ``cache`` with each row ``copies`` times."""
    if cache is None:
        return None
    copied = copy.deepcopy(cache)
    copied.batch_repeat_interleave(copies)
    return copied
