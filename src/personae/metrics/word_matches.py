"""What BLEU rests on, reply by reply, for words that are cut already: counted by sacrebleu.

Shapes: N replies of a chunk.
"""

from collections.abc import Callable, Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from personae.metrics.bootstrap import Floats
from personae.metrics.sample import Chunk

ORDER = 5
WIDTH = 2 + 2 * ORDER


def word_matches(chunk: Chunk, cut: Callable[[str], Sequence[str]]) -> Floats:
    """Rows (N, 12) of texts cut by ``cut``: see ``split_matches``. Matches are clipped by the best reference."""
    scorer = BLEU(tokenize="none", max_ngram_order=ORDER, effective_order=True)
    pairs = zip(chunk.predictions(cut), chunk.references(cut), strict=True)
    scored = [scorer.sentence_score(" ".join(words), [" ".join(each) for each in golds]) for words, golds in pairs]
    return np.array([[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in scored], float)


def blank_matches(chunk: Chunk) -> Floats:
    """``word_matches`` of blank-separated words as read."""
    return word_matches(chunk, str.split)


def split_matches(rows: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Words said (R,), words of the closest reference (R,), matches (R, 5) and n-grams said (R, 5), orders 1 to 5."""
    return rows[:, 0], rows[:, 1], rows[:, 2 : 2 + ORDER], rows[:, 2 + ORDER :]


def brevity_penalty(said: Floats, gold: Floats) -> Floats:
    """BLEU's brevity penalty (R,): 0 where nothing was said."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(said >= gold, 1.0, np.where(said > 0, np.exp(1 - gold / said), 0.0))
