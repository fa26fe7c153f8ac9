"""A gold reply's words under a run's model, among the words of a dictionary: for ``convai2_perplexity``.

Shapes: T tokens of a step, n beginnings of a word, V vocabulary.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from personae.data.dictionary import dictionary_hash, split_words
from personae.errors import UserError
from personae.evaluation.speaker import Speaker
from personae.evaluation.words import Pieces, Trie, by_length
from personae.metrics.reply import WordNats
from personae.text.pack import Packed


class Reading:
    """A model that has read a prompt and, word by word, some of the reply; ``next`` (V,) is what it expects."""

    def __init__(self, speaker: Speaker, packed: Packed) -> None:
        self.model, self.types = speaker.model, packed.prompt_types
        batch = speaker.move(speaker.collate.prompts([packed]))
        self.memory = self.model.encode(batch.pop("sources"))
        output = self.model(**batch, memory=self.memory, use_cache=True, logits_to_keep=1)
        self.cache, self.next = output.past_key_values, logs(output.logits)[0, -1]

    def read(self, pieces: Pieces) -> float:
        """Read a word; returns the logarithm of its mass."""
        found = self._step([pieces], self.cache)[0]
        before = torch.cat([self.next[None], found[:-1]])
        self.next = found[-1]
        return float(before[range(len(pieces)), list(pieces)].sum())

    def look(self, beginnings: Sequence[Pieces]) -> Tensor:
        """Probabilities (n, V) of what follows each of ``beginnings``; nothing is read."""
        behind = torch.empty(len(beginnings), len(self.next), dtype=torch.double, device=self.next.device)
        for at, pieces in by_length(beginnings):
            cache = copy.deepcopy(self.cache)
            cache.batch_repeat_interleave(len(at))
            behind[at] = self._step(pieces, cache)[:, -1].exp()
        return behind

    def _step(self, rows: Sequence[Pieces], cache: Any) -> Tensor:
        """Log-probabilities (n, T, V) of what follows each token of ``rows``."""
        ids = torch.tensor(rows, device=self.next.device)
        types = {} if self.types is None else {"token_type_ids": torch.full_like(ids, self.types[-1])}
        return logs(self.model(ids, memory=self.memory, past_key_values=cache, use_cache=True, **types).logits)


class WordScorer:
    """Scores gold replies by the words of a dictionary, one at a time.

    ``tolerance``: how far, in nats, the mass of the dictionary may be known only by bounds; the upper one counts.
    Raises ``UserError`` for a dictionary that the tokenizer cannot tell apart.
    """

    def __init__(self, speaker: Speaker, words: Sequence[str], tolerance: float) -> None:
        self.speaker, self.tolerance = speaker, tolerance
        self.known, self.hash = set(words), dictionary_hash(words)
        self.trie = Trie({word: self.pieces(word) for word in words})

    def pieces(self, word: str) -> Pieces:
        """Token ids of a word within a line, its leading blank among them."""
        return tuple(self.speaker.packer.encode(word))

    @torch.inference_mode()
    def score(self, packed: Packed, text: str) -> WordNats:
        """Score the gold reply ``text``. Raises ``UserError`` where its words do not fit the decoder."""
        words = split_words(text)
        self._check_room(packed, words, text)
        reading, nats, slack, scored = Reading(self.speaker, packed), 0.0, 0.0, 0
        for word in words:
            if word in self.known:
                low, high = self.trie.mass(reading.next.exp(), reading.look, self.tolerance)
                nats, slack, scored = nats + math.log(high), slack + math.log(high / low), scored + 1
            mass = reading.read(self.pieces(word))
            nats -= mass if word in self.known else 0.0
        return WordNats(nats, slack, scored, len(words) - scored, self.hash)

    def _check_room(self, packed: Packed, words: Sequence[str], text: str) -> None:
        needed = len(packed.prompt) + sum(len(self.pieces(word)) for word in words) + self.trie.longest
        room = self.speaker.model.window["decoder"]
        if needed > room:
            raise UserError(
                f"convai2_perplexity: the gold reply '{text[:40]}' and the dictionary's longest word need {needed} "
                f"positions beside the prompt, the decoder has {room}: take the reply out, or shorten the dictionary"
            )


def logs(logits: Tensor) -> Tensor:
    """Log-probabilities in double precision."""
    return logits.double().log_softmax(-1)
