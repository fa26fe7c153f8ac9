"""Chat: a trained model as a service without a state, for any persona and any history. Shapes: B batch, T prompt."""

from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast, StoppingCriteriaList

from personae.chat.choice import Prefer, best, likelihoods
from personae.chat.streaming import ONE_AT_A_TIME, Pieces, Stop, Tell, seeded, stream
from personae.decoding import Decoding
from personae.errors import UserError
from personae.evidence import Explained, Explainer, Piece, Recorder
from personae.layers.memory import Encoded, Memory
from personae.models import DialogueModel
from personae.runs import Run
from personae.text.collate import Collator
from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.pack import Packed, Packer
from personae.text.tokenizer import decode_reply

PERSONA, CONTEXT = "persona", "context"
PRECISIONS = ("fp32", "bf16")

Score = Callable[[Sequence[str]], Sequence[float]]


class Turn(NamedTuple):
    """One message; ``role`` is "partner", or "self" for the model's own."""

    role: str
    text: str


class Chat:
    """Answers for any persona and history.

    It may be called from several threads: replies are made one after another. The encodings of the
    ``remembered`` personas used last are kept, so that a persona is encoded once per session.
    """

    def __init__(
        self,
        model: DialogueModel,
        tokenizer: PreTrainedTokenizerFast,
        packer: Packer,
        decoding: Decoding | None = None,
        remembered: int = 16,
    ) -> None:
        self.model, self.tokenizer, self.packer = model, tokenizer, packer
        self.decoding = decoding or Decoding()
        self.remembered = remembered
        self.collate = Collator(int(tokenizer.pad_token_id))
        self._encodings: OrderedDict[tuple[str, tuple[int, ...], tuple[int, ...]], Encoded] = OrderedDict()

    @classmethod
    def load(cls, path: Path | str, precision: str = "fp32") -> Self:
        """Load the best model of a run. Raises ``UserError`` for what is no run, or holds no whole model.

        ``precision`` "bf16" halves the weights and packs them for the CPU's matrix units: faster on hardware
        that has them, and replies may differ where two words are almost equally likely.
        """
        if precision not in PRECISIONS:
            raise UserError(f"precision '{precision}': choose one of {', '.join(PRECISIONS)}")
        run = Run(path)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer = run.tokenizer()
        model: Any = run.model()
        model.to(device)
        if precision == "bf16":
            model.pack()
        return cls(model, tokenizer, run.packer(tokenizer), run.recipe().decoding)

    @property
    def uses_persona(self) -> bool:
        """Whether the model reads a persona at all."""
        return PERSONA in self.packer.needed

    @property
    def voices(self) -> tuple[str, ...]:
        """Whose shares evidence tells apart: the sources, and ``reply`` where the reply itself is one."""
        return tuple(self.model.voices)

    def check_persona(self, persona: Sequence[str]) -> None:
        """Raise ``UserError`` for a persona of zero sentences, or one that the model would not read."""
        if isinstance(persona, str):
            raise UserError("the persona is a list of sentences, not one string")
        said = any(sentence.strip() for sentence in persona)
        if self.uses_persona and not said:
            raise UserError("the persona has no sentence: give at least one, such as 'i have a dog named rex .'")
        if said and not self.uses_persona:
            raise UserError("this model has no persona among its sources: leave the persona out")

    def reply(
        self,
        persona: Sequence[str],
        history: Sequence[Turn],
        decoding: Decoding | None = None,
        explain: bool = False,
        seed: int | None = None,
        prefer: Prefer | None = None,
    ) -> Generator[Piece, None, None]:
        """Yield the pieces of the reply to ``history``, oldest turn first, the partner's message last.

        Pieces come as they are generated; with ``decoding.beams`` above 1 all of them come at the end. With
        ``explain`` each piece carries its evidence. ``seed`` makes sampling repeatable. With ``prefer`` as many
        replies are made as ``decoding.copies`` says, and the one with the highest score is given, of those with
        the same score the likeliest, then the first. What does not fit the budgets is cut and counted by the
        packer. Raises ``UserError``, before any piece, for a persona of zero sentences, an empty message, or settings
        that this model cannot follow.
        """
        dialogue = self.dialogue(persona, history)
        score = None if prefer is None else partial(prefer, persona, history[-1][1])
        return self.answer(dialogue, decoding, explain, seed, score)

    def answer(
        self,
        dialogue: Dialogue,
        decoding: Decoding | None = None,
        explain: bool = False,
        seed: int | None = None,
        score: Score | None = None,
    ) -> Generator[Piece, None, None]:
        """``reply`` for sources that are a dialogue already, whatever they are called; its response is not read.

        ``score`` makes of several replies numbers, of which the highest wins: see ``prefer`` of ``reply``.
        """
        packed = self.packer.pack_sources(dialogue)
        chosen = decoding or self.decoding
        self._check(chosen, packed, score)
        recorder = Recorder(self.model, self.voices) if explain else None
        return stream(partial(self._work, packed, chosen, recorder, seed, score))

    def explain(self, dialogue: Dialogue) -> Explained:
        """Explain ``dialogue.response``, whoever said it. Raises ``UserError`` for one that is empty or too long."""
        with ONE_AT_A_TIME:
            return Explainer(self.model, self.tokenizer, self.packer).explain(dialogue)

    def dialogue(self, persona: Sequence[str], history: Sequence[Turn]) -> Dialogue:
        """The sources of the reply. Raises ``UserError`` as ``reply`` does."""
        self.check_persona(persona)
        turns = [Turn(*turn) for turn in history]
        for turn in turns:
            if turn.role not in (PARTNER, SELF):
                raise UserError(f"a turn's role is '{PARTNER}' or '{SELF}', not '{turn.role}'")
        if not turns or not all(turn.text.strip() for turn in turns):
            raise UserError("the message is empty: say something")
        if turns[-1].role != PARTNER:
            raise UserError(f"the last turn should be the partner's: its role is '{turns[-1].role}'")
        sources = {CONTEXT: tuple(turn.text for turn in turns)}
        if self.uses_persona:
            sources[PERSONA] = tuple(sentence for sentence in persona if sentence.strip())
        return Dialogue(sources=sources, response="", roles={CONTEXT: tuple(turn.role for turn in turns)})

    def _check(self, decoding: Decoding, packed: Packed, score: Score | None) -> None:
        if decoding.copies > 1 and score is None:
            raise UserError(f"decoding.copies={decoding.copies}: a chat gives one reply, set decoding.copies=1")
        if decoding.copies == 1 and score is not None:
            raise UserError("nothing to choose from: set decoding.copies=5, or another number of replies")
        room = self.model.window["decoder"] + 1 - len(packed.prompt)  # the last token is not read
        if decoding.max_tokens > room:
            raise UserError(f"decoding.max_tokens={decoding.max_tokens} does not fit the model: set {room} or less")

    @torch.no_grad()
    def _work(
        self,
        packed: Packed,
        decoding: Decoding,
        recorder: Recorder | None,
        seed: int | None,
        score: Score | None,
        tell: Tell,
        stop: Stop,
    ) -> None:
        """Generate one reply, in the worker's thread."""
        batch = self.collate.prompts([packed])
        inputs = {
            "inputs": batch["input_ids"].to(self.model.device),
            "attention_mask": batch["attention_mask"].to(self.model.device),
            **{name: batch[name].to(self.model.device) for name in ("token_type_ids",) if name in batch},
            "memory": self._memory(packed, batch["sources"]),
            "stopping_criteria": StoppingCriteriaList([stop]),
            **self._arguments(decoding),
        }
        with seeded(seed):
            if decoding.beams == 1 and score is None:
                self._greedy_or_sample(inputs, recorder, tell)
            else:
                self._whole(packed, inputs, recorder, score, tell)

    def _arguments(self, decoding: Decoding) -> dict[str, Any]:
        ids = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
        return decoding.arguments(*map(int, ids))

    def _greedy_or_sample(self, inputs: dict[str, Any], recorder: Recorder | None, tell: Tell) -> None:
        evidence = recorder.token if recorder else None
        with recorder or nullcontext():
            self.model.generate(**inputs, streamer=Pieces(self.tokenizer, tell, evidence))

    def _whole(
        self, packed: Packed, inputs: dict[str, Any], recorder: Recorder | None, score: Score | None, tell: Tell
    ) -> None:
        """Search or sample first, then read the chosen reply once more for its evidence."""
        ids: Tensor = self.model.generate(**inputs)
        start = inputs["inputs"].shape[1]
        if score is not None:
            ids = self._chosen(packed, ids, start, score)
        if recorder is not None:
            with recorder:
                self.model(input_ids=ids, memory=inputs["memory"], **whole_types(inputs, ids.shape[1]))
        pieces = Pieces(self.tokenizer, tell, recorder.following(start) if recorder else None)
        for token in ids[0, start:].tolist():
            pieces.add(token)
        pieces.end()

    def _chosen(self, packed: Packed, ids: Tensor, start: int, score: Score) -> Tensor:
        """Of replies (N, T) from ``start`` on the one (1, T) with the highest score."""
        rows = ids[:, start:].tolist()
        scores = score([decode_reply(self.tokenizer, row) for row in rows])
        at = best(scores, likelihoods(self.model, self.collate, packed, rows, int(self.tokenizer.eos_token_id)))
        return ids[at : at + 1]

    def _memory(self, packed: Packed, sources: dict[str, dict[str, Tensor]]) -> Memory:
        """Every source encoded; those that stay the same from turn to turn come from the last replies."""
        return Memory({name: self._encoded(name, packed.sources[name], batch) for name, batch in sources.items()})

    def _encoded(self, name: str, ids: list[int], batch: dict[str, Tensor]) -> Encoded:
        key = (name, tuple(ids), tuple(batch["token_type_ids"][0].tolist()) if "token_type_ids" in batch else ())
        found = self._encodings.get(key)
        if found is None:
            found = self.model.encode_source(name, {part: of.to(self.model.device) for part, of in batch.items()})
        if name != CONTEXT:
            self._encodings[key] = found
            self._encodings.move_to_end(key)
            while len(self._encodings) > self.remembered:
                self._encodings.popitem(last=False)
        return found


def whole_types(inputs: dict[str, Any], length: int) -> dict[str, Tensor]:
    """Where the prompt's tokens have types, those of the whole row (1, T): the reply's are the last one's."""
    types = inputs.get("token_type_ids")
    if types is None:
        return {}
    return {"token_type_ids": torch.cat([types, types[:, -1:].expand(-1, length - types.shape[1])], dim=1)}
