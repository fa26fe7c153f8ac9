"""Explainer: replies explained by where the model looked and by leaving texts out.

Shapes: B batch, T prompt and reply, S tokens of a row, K reply tokens without the end token, M texts, N voices.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from personae.errors import UserError
from personae.evidence.attention import PromptRecorder, TextRecorder
from personae.evidence.explained import PROMPT, SHARES, SOURCES, Explained, Text, Word
from personae.evidence.leave_one_out import leave_out, lost, read_in, reply_nats, texts_of
from personae.evidence.spelling import word_slices
from personae.models import DialogueModel
from personae.text.collate import Collator
from personae.text.dialogue import Dialogue
from personae.text.pack import REPLY, Cuts, Origin, Packed, Packer, parts_of

ROWS = 64


@dataclass(frozen=True)
class Look:
    """Where one reply looked: shares (K, N) of the voices, texts (K, M), marks (K, N); None where there are none.

    ``nats`` (K + 1) of its tokens, the end token last.
    """

    nats: Tensor
    shares: Tensor
    texts: Tensor | None
    marks: Tensor | None


class Explainer:
    """Explains the replies of one model.

    The reply is forced: any text can be explained, whether or not the model would say it. ``rows``: how many rows
    are read at once, which changes the speed only; a reply's texts left out, one each, are rows of one batch where
    they fit. Not for several threads at once: it hangs hooks into the model.
    """

    def __init__(
        self, model: DialogueModel, tokenizer: PreTrainedTokenizerFast, packer: Packer, rows: int = ROWS
    ) -> None:
        self.model, self.tokenizer, self.rows = model, tokenizer, rows
        self.packer = copy.copy(packer)
        self.packer.cuts = Cuts()  # what is packed to explain is no use of the model
        self.collate = Collator(int(tokenizer.pad_token_id))
        self.sources = tuple(
            dict.fromkeys(part for name in (*packer.sources, *packer.prompt) for part in parts_of(name))
        )
        self.voices = tuple(model.voices) or (REPLY, *self.sources)

    def explain(self, dialogue: Dialogue) -> Explained:
        """Explain ``dialogue.response``. Raises ``UserError`` for an empty reply, or one that does not fit."""
        return self.explain_all([dialogue])[0]

    @torch.inference_mode()
    def explain_all(self, dialogues: Sequence[Dialogue]) -> list[Explained]:
        """Explain the response of each of ``dialogues``."""
        packed = [self.pack(each) for each in dialogues]
        texts = [texts_of(each, self.sources) for each in dialogues]
        variants: dict[tuple[int, Origin], Packed | None] = {}
        for at, (dialogue, each) in enumerate(zip(dialogues, packed, strict=True)):
            read = read_in(each)
            for origin in texts[at]:
                if origin in read:
                    variants[at, origin] = leave_out(self.pack, dialogue, each, origin)
        looks = self.look(packed, texts)
        known = {key: each for key, each in variants.items() if each is not None}
        nats = dict(zip(known, self.nats(list(known.values())), strict=True))
        found = []
        for at, dialogue in enumerate(dialogues):
            left_out = {origin: nats.get((i, origin)) for i, origin in variants if i == at}
            found.append(self.put_together(dialogue, packed[at], texts[at], looks[at], left_out))
        return found

    def pack(self, dialogue: Dialogue) -> Packed:
        """Pack sources and reply, whatever ``text.budgets.reply`` says. Raises ``UserError`` as ``explain``."""
        words = self.packer.encode(dialogue.response)
        if not words:
            raise UserError("the reply is empty: there is nothing to explain")
        packed = replace(self.packer.pack_sources(dialogue), reply=[*words, int(self.tokenizer.eos_token_id)])
        room = self.model.window["decoder"] - len(packed.prompt)
        if len(packed.reply) > room:
            raise UserError(f"the reply has {len(packed.reply)} tokens, the decoder has room for {room}: shorten it")
        return packed

    def nats(self, packed: Sequence[Packed]) -> list[Tensor]:
        """Per example the nats of its reply's tokens, end token included."""
        order = sorted(range(len(packed)), key=lambda at: packed[at].length)
        found: dict[int, Tensor] = {}
        for start in range(0, len(order), self.rows):
            some = order[start : start + self.rows]
            rows = [packed[at] for at in some]
            found |= zip(some, reply_nats(self.model(**self.batch(rows)).nll, rows), strict=True)
        return [found[at] for at in range(len(packed))]

    def look(self, packed: Sequence[Packed], texts: Sequence[Sequence[Origin]]) -> list[Look]:
        """Per example where its reply looked."""
        found: list[Look] = []
        for start in range(0, len(packed), self.rows):
            part = slice(start, start + self.rows)
            found += self.look_at_once(packed[part], texts[part])
        return found

    def look_at_once(self, packed: Sequence[Packed], texts: Sequence[Sequence[Origin]]) -> list[Look]:
        """``look`` for one batch."""
        recorder = TextRecorder(self.model, self.voices) if self.model.voices else PromptRecorder(self.model)
        with recorder:
            output = self.model(**self.batch(packed))
        rows = enumerate(zip(packed, texts, reply_nats(output.nll, packed), strict=True))
        if isinstance(recorder, TextRecorder):
            return [self.of_sources(recorder, row, *given) for row, given in rows]
        return [self.of_prompt(recorder, row, *given) for row, given in rows]

    def of_sources(
        self, recorder: TextRecorder, row: int, packed: Packed, texts: Sequence[Origin], nats: Tensor
    ) -> Look:
        """What row ``row`` of the last pass took from its sources."""
        here = slice(len(packed.prompt) - 1, len(packed.prompt) + len(packed.reply) - 2)
        shares = recorder.passes[-1][row, here].cpu()
        if recorder.split is None:
            return Look(nats, shares, None, None)
        names = list(self.model.config.sources)
        found, marks = torch.zeros(len(shares), len(texts)), torch.zeros_like(shares)
        for name, weights in zip(names, recorder.split, strict=True):
            origins = packed.origins(name)
            by_text, on_marks = gather(weights[row, here, : len(origins)].cpu(), origins, texts)
            found += by_text
            marks[:, self.voices.index(name)] = on_marks
        return Look(nats, shares, found, marks)

    def of_prompt(
        self, recorder: PromptRecorder, row: int, packed: Packed, texts: Sequence[Origin], nats: Tensor
    ) -> Look:
        """What row ``row`` of the last pass took from its prompt; its own words so far are the voice ``reply``."""
        here = slice(len(packed.prompt) - 1, len(packed.prompt) + len(packed.reply) - 2)
        length = here.stop - here.start
        if recorder.weights is None:
            return Look(nats, torch.zeros(length, len(self.voices)), None, None)
        origins = [*packed.prompt_origins, *[(REPLY, -1)] * (len(packed.reply) - 1)]
        weights = recorder.weights[row, here, : len(origins)].cpu()
        found, _ = gather(weights, origins, texts)
        owners = [(name, -1) for name, _ in origins]
        shares, _ = gather(weights, owners, [(name, -1) for name in self.voices])
        marked = [gather(weights, origins, [(name, -1)])[0] for name in self.voices if name != REPLY]
        return Look(nats, shares, found, torch.cat([torch.zeros(length, 1), *marked], dim=1))

    def put_together(
        self,
        dialogue: Dialogue,
        packed: Packed,
        texts: Sequence[Origin],
        look: Look,
        left_out: Mapping[Origin, Tensor | None],
    ) -> Explained:
        """All that was found about one reply."""
        losses, read = lost(look.nats, left_out, texts), read_in(packed)
        shares = [None] * len(texts) if look.texts is None else look.texts.mean(0).tolist()
        tokens = len(packed.reply)
        sums = [None if each is None else float(each.sum()) for each in losses]
        described = [
            Text(
                source=name,
                position=at,
                text=dialogue.sources[name][at],
                role=dialogue.roles[name][at] if dialogue.roles.get(name) else None,
                read=(name, at) in read,
                share=share,
                nats=nats,
                nats_per_token=None if nats is None else nats / tokens,
            )
            for (name, at), share, nats in zip(texts, shares, sums, strict=True)
        ]
        return Explained(
            reply=dialogue.response.strip(),
            words=tuple(self.words(packed, look, losses)),
            texts=tuple(described),
            shares=self.named(look.shares.mean(0)),
            marks=None if look.marks is None else self.named(look.marks.mean(0)),
            nats=float(look.nats.sum()),
            tokens=tokens,
            view=SHARES if look.texts is None else SOURCES if self.model.voices else PROMPT,
            prompted=tuple(part for name in self.packer.prompt for part in parts_of(name)) if self.model.voices else (),
        )

    def words(self, packed: Packed, look: Look, losses: Sequence[Tensor | None]) -> Iterator[Word]:
        """The reply's words: shares are means over their tokens, nats sums."""
        for text, part in word_slices(self.tokenizer, packed.reply[:-1]):
            yield Word(
                text,
                self.named(look.shares[part].mean(0)),
                (None,) * len(losses) if look.texts is None else tuple(look.texts[part].mean(0).tolist()),
                tuple(None if each is None else float(each[part].sum()) for each in losses),
            )

    def named(self, shares: Tensor) -> dict[str, float]:
        """Shares (N,) by voice."""
        return dict(zip(self.voices, shares.tolist(), strict=True))

    def batch(self, packed: Sequence[Packed]) -> dict[str, Any]:
        """What the model reads, on its device."""
        return {name: moved(each, self.model.device) for name, each in self.collate(packed).items()}


def gather(weights: Tensor, origins: Sequence[Origin], texts: Sequence[Origin]) -> tuple[Tensor, Tensor]:
    """Weights (K, S) summed by the text that a token comes from: those of ``texts`` (K, M), and the rest (K,)."""
    place = {origin: at for at, origin in enumerate(texts)}
    index = torch.tensor([place.get(origin, len(texts)) for origin in origins])
    sums = weights.new_zeros(len(weights), len(texts) + 1).index_add_(1, index, weights)
    return sums[:, :-1], sums[:, -1]


def moved(batch: Any, device: torch.device) -> Any:
    """A nested batch on ``device``."""
    return (
        batch.to(device) if isinstance(batch, Tensor) else {name: moved(each, device) for name, each in batch.items()}
    )
