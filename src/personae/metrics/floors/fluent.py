"""The best constant that reads like something people say, grown word by word from the training replies.

Shapes: N sampled replies, W words.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from personae.errors import UserError
from personae.metrics.bootstrap import Floats
from personae.metrics.floors.base import Floor, spread
from personae.metrics.floors.constant import count_matrix
from personae.metrics.normalize import normalized_tokens
from personae.text.dialogue import Dialogue

TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
ORDER = 3  # tokens in a row that people have said
SHARE = 1 / 2000  # so many replies of all must have them
BEAM = 40
LONGEST = 30
BEGIN, END = "", "\n"  # no tokens of a reply

Chains = dict[tuple[str, ...], list[str]]


@Floor.register("constant:fluent")
class FluentConstant(Floor):
    """The constant with the best F1 on ``training`` that reads like what people say there.

    Any three tokens of it in a row, begin and end among them, stand so in one of 2,000 training replies or more.
    """

    needs_training = True

    def __init__(self, training: Iterable[Dialogue], sample: int = 2000) -> None:
        """Take the chains from all of ``training``, and the F1 on ``sample`` replies evenly spaced."""
        self.text = best_fluent([dialogue.response for dialogue in training], sample)

    def reply(self, dialogue: Dialogue, index: int) -> str:
        """The constant."""
        return self.text or ""


@dataclass(frozen=True)
class Growing:
    """A chain so far: its tokens, its normalised words, how many of them (N) each sampled reply shares, mean F1."""

    tokens: tuple[str, ...]
    words: Counter[str]
    shared: Floats
    score: float

    @property
    def end(self) -> tuple[str, ...]:
        """The tokens that decide what may follow."""
        return ((BEGIN,) * ORDER + self.tokens)[1 - ORDER :]


def best_fluent(replies: Sequence[str], sample: int = 2000) -> str:
    """Search, by beam and without chance, the chain of common word triples with the best mean word F1."""
    follow = chains(replies)
    if not follow:
        raise UserError("the fluent constant finds no words in the training replies: give another split")
    golds = [normalized_tokens(reply) for reply in spread(replies, sample)]
    words = sorted({word for tokens in follow.values() for token in tokens for word in normalized_tokens(token)})
    column = dict(zip(words, count_matrix(golds, words).T, strict=True))
    lengths = np.array([len(gold) for gold in golds], float)
    beam, best = [Growing((), Counter(), np.zeros(len(golds)), 0.0)], Growing((), Counter(), lengths, -1.0)
    for _ in range(LONGEST):
        ended = [one for one in beam if one.tokens and END in follow[one.end]]
        best = max([best, *ended], key=lambda one: one.score)  # the first of equals
        grown = [grow(one, token, column, lengths) for one in beam for token in follow[one.end] if token != END]
        beam = distinct(sorted(grown, key=lambda one: (-one.score, one.tokens)))
    return " ".join(best.tokens)


def chains(replies: Sequence[str]) -> Chains:
    """What follows any ``ORDER`` - 1 tokens in enough of ``replies``, sorted."""
    counts: Counter[tuple[str, ...]] = Counter()
    for reply in replies:
        counts.update(set(rows(TOKEN.findall(reply.lower()))))
    least, follow = math.ceil(SHARE * len(replies)), defaultdict[tuple[str, ...], list[str]](list)
    for row, count in sorted(counts.items()):
        if count >= least:
            follow[row[:-1]].append(row[-1])
    return follow


def rows(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every ``ORDER`` tokens in a row of a reply, with begin and end; none of an empty one."""
    padded = [*[BEGIN] * (ORDER - 1), *tokens, END] if tokens else []
    return zip(*(padded[start:] for start in range(ORDER)), strict=False)


def grow(one: Growing, token: str, column: dict[str, Floats], lengths: Floats) -> Growing:
    """``one`` with ``token`` added."""
    words, shared = one.words.copy(), one.shared
    for word in normalized_tokens(token):
        shared = shared + (column[word] > words[word])
        words[word] += 1
    size = words.total()
    score = float(np.mean(2 * shared / (size + lengths))) if size else 0.0
    return Growing((*one.tokens, token), words, shared, score)


def distinct(grown: Sequence[Growing]) -> list[Growing]:
    """The first ``BEAM`` that differ in what may follow or in their words."""
    kept: dict[object, Growing] = {}
    for one in grown:
        if len(kept) < BEAM:
            kept.setdefault((one.end, frozenset(one.words.items())), one)
    return list(kept.values())
