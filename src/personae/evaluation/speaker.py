"""A run's model at work on dialogues: nats of the gold replies, and replies of its own.

Shapes: B batch, T prompt and reply.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from personae.decoding import Decoding
from personae.errors import UserError
from personae.evaluation.predictions import Said
from personae.runs import Run
from personae.text.collate import IGNORED, Collator
from personae.text.dialogue import Dialogue
from personae.text.pack import Packed
from personae.text.tokenizer import decode_reply


class Speaker:
    """Loads the model of ``run`` and lets it speak with the settings ``decoding``.

    ``bf16`` is for its own replies only: gold replies are always scored in float32.
    """

    def __init__(self, run: Run, decoding: Decoding, bf16: bool = False) -> None:
        if decoding.copies != 1:
            raise UserError(f"decoding.copies={decoding.copies}: an evaluation scores one reply a turn; leave it at 1")
        self.decoding, self.bf16 = decoding, bf16
        self.tokenizer = run.tokenizer()
        self.packer = run.packer(self.tokenizer)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loaded: Any = run.model()
        self.model: Any = loaded.to(self.device, torch.float32)
        pad = int(self.tokenizer.pad_token_id)
        self.collate = Collator(pad)
        self.arguments = decoding.arguments(int(self.tokenizer.bos_token_id), int(self.tokenizer.eos_token_id), pad)

    def pack(self, dialogues: Sequence[Dialogue]) -> list[Packed]:
        """Pack dialogues with their gold replies, never cut.

        Any reply that fits the decoder beside its prompt is taken, whatever ``text.budgets.reply`` says: a
        reply left out would change what is scored. Raises ``UserError`` for one beyond that.
        """
        packed = [self._pack(dialogue) for dialogue in dialogues]
        room = self.model.window["decoder"] + 1 - max(len(each.prompt) for each in packed)
        if self.decoding.max_tokens > room:
            raise UserError(f"decoding.max_tokens={self.decoding.max_tokens}: the decoder has room for {room}")
        return packed

    def _pack(self, dialogue: Dialogue) -> Packed:
        packed = self.packer.pack_sources(dialogue)
        reply = [*self.packer.encode(dialogue.response), int(self.tokenizer.eos_token_id)]
        room = self.model.window["decoder"] - len(packed.prompt)
        if len(reply) > room:
            raise UserError(
                f"{dialogue.conversation or 'a dialogue'}: the gold reply '{dialogue.response[:40]}' has {len(reply)} "
                f"tokens, the decoder has room for {room}: take it out of the data, or train with more "
                f"model.options.decoder.n_positions"
            )
        return replace(packed, reply=reply)

    @torch.inference_mode()
    def answer(self, packed: Sequence[Packed], seed: int) -> list[Said]:
        """Score and answer one batch; ``seed`` decides what sampling draws."""
        batch = self.move(self.collate(packed))
        memory = self.model.encode(batch.pop("sources"))
        nats = self.model(**batch, memory=memory).nll.double().sum(-1).tolist()
        tokens = (batch["labels"] != IGNORED).sum(-1).tolist()
        with self._autocast():
            texts = self._generate(packed, None if self.bf16 else memory, seed)
        return [Said(*each) for each in zip(texts, nats, tokens, strict=True)]

    @torch.inference_mode()
    def say(self, packed: Sequence[Packed], seed: int) -> list[str]:
        """Answer one batch without gold replies; ``seed`` decides what sampling draws."""
        with self._autocast():
            return self._generate(packed, None, seed)

    def _generate(self, packed: Sequence[Packed], memory: Any, seed: int) -> list[str]:
        prompts = self.move(self.collate.prompts(packed))
        ids = prompts.pop("input_ids")
        torch.manual_seed(seed)
        rows: Tensor = self.model.generate(ids, memory=memory, **self.arguments, **prompts)
        return [decode_reply(self.tokenizer, row) for row in rows[:, ids.shape[1] :].tolist()]

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self.bf16 else nullcontext()

    def move(self, batch: Any) -> Any:
        """Tensors, or mappings of them, to the model's device."""
        if isinstance(batch, Tensor):
            return batch.to(self.device)
        return {name: self.move(value) for name, value in batch.items()}


def plan_batches(packed: Sequence[Packed], size: int) -> list[list[int]]:
    """Positions in batches of like length, the longest first: what does not fit the memory fails at once."""
    order = sorted(range(len(packed)), key=lambda at: -packed[at].length)
    return [order[start : start + size] for start in range(0, len(order), size)]
