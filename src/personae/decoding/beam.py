"""Beam search with the length penalty of Wu et al. 2016. Shapes: see ``task``; C candidates of an example.

A reply of n tokens, the end token counted, scores log P / ((5 + n) / 6) ** alpha (their Eq. 14 without coverage).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from personae.decoding.task import Found, Task, extend, penalty, pick


def beam_search(task: Task, length_penalty: float) -> Found:
    """The best replies that ``task.beams`` live hypotheses lead to, by score with exponent ``length_penalty`` >= 0.

    Each step takes the K best continuations by log-probability: those that end enter the list of finished replies,
    and the next best fill their places. An example is over once no live hypothesis can reach a score above the
    worst that is kept, were all its further tokens certain. What has not ended after ``task.most`` tokens
    competes with the others by the same score. No example sees another.
    """
    search = _Search(task, length_penalty)
    for length in range(1, task.most + 1):
        search.advance(length)
        if search.over.all():
            break
    return Found(search.finished, search.lengths, search.scores)


class _Search:
    """``live`` (B, K, n) with log-probabilities ``sums`` (B, K) in falling order; ``finished`` (B, keep, n).

    ``over`` (B,) True where an example's finished replies are its final ones.
    """

    def __init__(self, task: Task, alpha: float) -> None:
        self.task, self.alpha = task, alpha
        device = task.eos.device
        self.live = torch.empty(task.batch, task.beams, 0, dtype=torch.long, device=device)
        self.parents = torch.zeros(task.batch, task.beams, dtype=torch.long, device=device)
        # All beams are the empty reply: the first goes on, so that no reply is found twice.
        self.sums = torch.full((task.batch, task.beams), -torch.inf, device=device)
        self.sums[:, 0] = 0.0
        self.finished = torch.empty(task.batch, task.keep, 0, dtype=torch.long, device=device)
        self.lengths = torch.zeros(task.batch, task.keep, dtype=torch.long, device=device)
        self.scores = torch.full((task.batch, task.keep), -torch.inf, device=device)
        self.over = torch.zeros(task.batch, dtype=torch.bool, device=device)

    def advance(self, length: int) -> None:
        """Go from ``length`` - 1 tokens to ``length``."""
        ids, sums, parents = self._candidates()
        ends = self.task.ends(ids) if length < self.task.most else torch.ones_like(sums, dtype=torch.bool)
        self._finish(ids, sums, ends, length)
        self.sums, chosen = sums.masked_fill(ends, -torch.inf).topk(self.task.beams)
        self.live, self.parents = pick(ids, chosen), pick(parents, chosen)
        reachable = self.sums[:, 0] / penalty(self.task.most, self.alpha)
        self.over = self.over | (reachable <= self.scores[:, -1])

    def _candidates(self) -> tuple[Tensor, Tensor, Tensor]:
        """The C best continuations, so many that K remain when those that end are gone: ids, sums, parents."""
        task = self.task
        step = task.step(self.live.flatten(0, 1), task.rows(self.parents))
        words = step.shape[-1]
        total = (self.sums.flatten()[:, None] + step).view(task.batch, -1)
        sums, places = total.topk(min(task.beams * (1 + len(task.eos)), total.shape[1]))
        parents = places // words
        return extend(self.live, parents, places % words), sums, parents

    def _finish(self, ids: Tensor, sums: Tensor, ends: Tensor, length: int) -> None:
        """Keep the best of what was finished before and of what ends among the K best candidates."""
        beams = self.task.beams
        counts = ends[:, :beams] & ~self.over[:, None]
        fresh = (sums[:, :beams] / penalty(length, self.alpha)).masked_fill(~counts, -torch.inf)
        self.scores, best = torch.cat([self.scores, fresh], dim=1).topk(self.task.keep)
        every = torch.cat([F.pad(self.finished, (0, 1), value=self.task.pad), ids[:, :beams]], dim=1)
        lengths = torch.cat([self.lengths, torch.full_like(self.parents, length)], dim=1)
        self.lengths = pick(lengths, best).masked_fill(self.scores == -torch.inf, 0)
        after = torch.arange(length, device=ids.device) >= self.lengths[..., None]
        self.finished = pick(every, best).masked_fill(after, self.task.pad)
