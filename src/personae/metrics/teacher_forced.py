"""What Huang et al. (2023) report as F1: of token ids, under the gold reply, padding included.

Shapes: G rows (conversations, or blocks of them), C pairs of a row and a token.
"""

from collections.abc import Sequence

import numpy as np

from personae.errors import UserError
from personae.metrics.base import Metric, Tally
from personae.metrics.bootstrap import JACKKNIFE, Floats, jackknife_interval
from personae.metrics.checks import require_replies
from personae.metrics.left_out import LeftOut
from personae.metrics.reply import Forced, Reply, Score
from personae.metrics.sample import Chunk, Rows, Sample
from personae.metrics.signature import sample_signature

BATCH = 4
LAYOUT = f"padded-to-longest-of-{BATCH}-in-file-order"
_ROW = 1 << 32  # a row and a token are one number


@Metric.register("paa_teacher_forced_macro_f1")
class TeacherForcedMacroF1(LeftOut):
    """Macro F1 of token ids in %: the argmax under the gold reply against that reply, padding included; no word F1.

    The "F1" of Huang et al. (2023), as published code computes it: a model reads the gold reply, its likeliest
    token at every position is the prediction, and F1 is averaged over the ids that occur in either, [PAD] among
    them. Replies stand four at a time in file order, each padded to the longest of its four; what the model
    answers at padding counts. F1 is the same from either side, so the published order of arguments changes nothing.
    """

    default = False
    reads_predictions = False

    def applies(self, replies: Sequence[Reply]) -> bool:
        """Whether an evaluation was asked for it."""
        return all(reply.forced is not None for reply in replies)

    def tally(self, sample: Sample) -> "MacroTally":
        """An empty tally."""
        return MacroTally(self.name, sample)


class MacroTally(Tally):
    """By conversation and token: how often it was right, predicted, and gold."""

    def __init__(self, name: str, sample: Sample) -> None:
        self.name, self.sample = name, sample
        self._keys: Rows = np.zeros(0, np.int64)
        self._counts = np.zeros((0, 3))
        self._folded = False

    def add(self, chunk: Chunk) -> None:
        """Count the tokens of ``chunk``."""
        if self.sample.folded is not None and not self._folded:
            rows, tokens = np.divmod(self._keys, _ROW)
            self._keys, self._folded = self.sample.folded[rows] * _ROW + tokens, True
        forced = [self._forced(reply, at) for at, reply in enumerate(chunk.replies, chunk.start)]
        rows = np.repeat(chunk.rows, [len(each.gold) for each in forced])
        predicted = np.array([token for each in forced for token in each.predicted], np.int64)
        gold = np.array([token for each in forced for token in each.gold], np.int64)
        right = predicted[predicted == gold], rows[predicted == gold]
        for kind, (tokens, where) in enumerate((right, (predicted, rows), (gold, rows))):
            self._merge(where * _ROW + tokens, kind)

    def score(self) -> Score:
        """Mean over tokens of 2 right / (predicted + gold)."""
        require_replies(self.name, self.sample)
        _, totals = self._by_token()
        value = float(100 * f1(totals).mean())
        fields = {"avg": "macro-of-token-ids", "ids": len(totals), "positions": int(totals[:, 2].sum())}
        left_out = self._left_out()
        spoke = np.isin(self.sample.order, self._keys // _ROW)
        interval = jackknife_interval(value, left_out[spoke, 0])
        signature = sample_signature(self.name, self.sample, **fields, layout=LAYOUT, ci=JACKKNIFE)
        return Score(value, signature, interval and (max(0.0, interval[0]), min(100.0, interval[1])))

    def by_conversation(self) -> Floats | None:
        """The value without each conversation (G, 1); None with fewer than two."""
        return self._left_out() if len(np.unique(self._keys // _ROW)) > 1 else None

    def _left_out(self) -> Floats:
        """The value without each row (G, 1), in the order of the sample's names."""
        of, totals = self._by_token()
        rest = totals[of] - self._counts
        gone = rest[:, 1:].sum(1) == 0
        change = np.where(gone, 0.0, f1(rest)) - f1(totals)[of]
        rows, size = self._keys // _ROW, self.sample.size
        sums = f1(totals).sum() + np.bincount(rows, change, size)
        kept = len(totals) - np.bincount(rows, gone, size)
        left_out = 100 * np.divide(sums, kept, out=np.zeros(size), where=kept > 0)
        return np.asarray(left_out[self.sample.order][:, None])

    def _by_token(self) -> tuple[Rows, Floats]:
        """For each pair (C) the number of its token, and the counts of all tokens."""
        tokens, of = np.unique(self._keys % _ROW, return_inverse=True)
        totals = np.zeros((len(tokens), 3))
        np.add.at(totals, of, self._counts)
        return of, totals

    def _merge(self, keys: Rows, kind: int) -> None:
        counts = np.zeros((len(keys), 3))
        counts[:, kind] = 1
        merged, of = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        summed = np.zeros((len(merged), 3))
        np.add.at(summed, of, np.concatenate([self._counts, counts]))
        self._keys, self._counts = merged, summed

    def _forced(self, reply: Reply, number: int) -> Forced:
        if reply.forced is None:
            raise UserError(
                f"{self.name} needs what a model finds likeliest under the gold reply, but reply {number} has none: "
                f"run personae evaluate RUN --metrics {self.name}"
            )
        if len(reply.forced.predicted) != len(reply.forced.gold):
            raise UserError(
                f"{self.name}: reply {number} has {len(reply.forced.predicted)} predicted ids, not "
                f"{len(reply.forced.gold)} as its gold reply"
            )
        return reply.forced


def f1(counts: Floats) -> Floats:
    """F1 (C,) of counts (C, 3); 0 where nothing was counted."""
    total = counts[:, 1] + counts[:, 2]
    return np.divide(2 * counts[:, 0], total, out=np.zeros(len(counts)), where=total > 0)
