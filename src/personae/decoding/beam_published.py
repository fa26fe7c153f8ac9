"""The beam search that Cao et al. 2020 released, with its faults, so that their numbers can be had again.

Shapes: see ``task``. Use ``beam`` for anything else. What differs:

- An ended hypothesis keeps its place and has V equal continuations, so once it ranks first it takes all beams.
- After each step a beam's score is multiplied back by the length penalty of the beam that had its place before,
  not of the one that it goes on from: from then on scores are not those of the replies.
- The begin token counts: a reply of n tokens is divided by ((5 + n + 1) / 6) ** alpha.
- Where ``most`` tokens come before every hypothesis of the batch has ended, the best is chosen without length
  penalty, and the last token of a reply that has not ended is cut: at most ``most`` - 1 tokens.
- The search stops when all hypotheses of the batch have ended, so a reply may depend on the batch that it is in.
"""

import torch
from torch import Tensor

from personae.decoding.task import Found, Task, extend, penalty, pick


def published_beam_search(task: Task, length_penalty: float) -> Found:
    """What the released search finds; a reply may be there more than once."""
    return PublishedSearch(task, length_penalty).run()


class PublishedSearch:
    """All (B, K): ``sums`` carried from step to step, ``lengths`` with the begin token, ``ended``, ``parents``.

    Of the last step also ``scores``, the normalised ones, and ``penalty``, of the beams before it. ``ids`` (B, K, n).
    """

    def __init__(self, task: Task, alpha: float) -> None:
        self.task, self.alpha = task, alpha
        device = task.eos.device
        self.ids = torch.empty(task.batch, task.beams, 0, dtype=torch.long, device=device)
        self.sums = self.scores = torch.zeros(task.batch, task.beams, device=device)
        self.parents = torch.zeros(task.batch, task.beams, dtype=torch.long, device=device)
        self.lengths = torch.ones_like(self.parents)
        self.ended = torch.zeros_like(self.parents, dtype=torch.bool)
        self.penalty = torch.ones_like(self.sums)

    def run(self) -> Found:
        """Search to the end."""
        for _ in range(self.task.most):
            if self.advance():
                break
        return self.found()

    def advance(self) -> bool:
        """Take one step; whether all hypotheses of the batch have ended."""
        self.penalty = penalty(self.lengths + 1 - self.ended.long(), self.alpha)
        candidates = self._candidates()
        words = candidates.shape[-1]
        self.scores, places = candidates.flatten(1).topk(self.task.beams)
        self.parents = places // words
        before = pick(self.ended, self.parents)
        self.ids = extend(self.ids, self.parents, (places % words).masked_fill(before, self.task.pad))
        self.lengths = pick(self.lengths, self.parents) + (~before).long()
        self.ended = before | self.task.ends(self.ids)
        stop = bool(self.ended.all())
        self.sums = self.scores if stop else self.restored()
        return stop

    def restored(self) -> Tensor:
        """(B, K) sums out of normalised scores: the penalty is that of a beam's place, not of its parent."""
        return self.scores * self.penalty

    def found(self) -> Found:
        """The beams by what their sums are now; the last token of one that has not ended is cut."""
        scores, order = self.sums.sort(dim=1, descending=True, stable=True)
        order = order[:, : self.task.keep]
        ids = pick(self.ids, order)
        said = pick(self.lengths - 1 - (~self.ended).long(), order)
        cut = torch.arange(ids.shape[-1], device=ids.device) >= said[..., None]
        return Found(ids.masked_fill(cut, self.task.pad), said, scores[:, : self.task.keep])

    def _candidates(self) -> Tensor:
        """(B, K or 1, V) normalised scores; at the first step all beams are the same and only the first counts."""
        task = self.task
        step = task.step(self.ids.flatten(0, 1), task.rows(self.parents)).view(task.batch, task.beams, -1)
        gained = step.masked_fill(self.ended[..., None], 0.0)
        candidates = (self.sums[..., None] + gained) / self.penalty[..., None]
        return candidates if self.ids.shape[-1] else candidates[:, :1]
