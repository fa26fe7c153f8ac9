"""The beam search of ParlAI in 2019, with which AdaND was released. Shapes: see ``task``; R replies that have ended.

What differs from ``beam``:

- An ended hypothesis keeps its place for one step more, in which nothing follows from it.
- An example is over once its first beam has ended at some step and so have three replies in all, however good what
  is still going on.
- A reply of n tokens, end token counted, scores log P / ((2 + n) / 6) ** alpha: the begin token counts too. Which
  replies are kept is decided at the end, by this score.
- Where no reply has ended, the first beam's last token becomes the end token, with its score as it was.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from personae.decoding.task import Found, Task, extend

ENOUGH = 3


def parlai_beam_search(task: Task, length_penalty: float) -> Found:
    """What the released search finds with exponent ``length_penalty``; it released 0.65."""
    search = _Search(task)
    for _ in range(task.most):
        search.advance()
        if all(each.over for each in search.examples):
            break
    return search.found(length_penalty)


@dataclass
class _Example:
    """Replies that have ended, ids with their log P, and whether the first beam has ended at some step."""

    ended: list[tuple[list[int], float]] = field(default_factory=list)
    first: bool = False

    @property
    def over(self) -> bool:
        """Whether the search has ended for this example."""
        return self.first and len(self.ended) >= ENOUGH


class _Search:
    """``live`` (B, K, n) with log-probabilities ``sums`` (B, K), -inf where a hypothesis has ended."""

    def __init__(self, task: Task) -> None:
        self.task, device = task, task.eos.device
        self.live = torch.empty(task.batch, task.beams, 0, dtype=torch.long, device=device)
        self.parents = torch.zeros(task.batch, task.beams, dtype=torch.long, device=device)
        # All beams are the empty reply: only the first goes on.
        self.sums = torch.full((task.batch, task.beams), -torch.inf, device=device)
        self.sums[:, 0] = 0.0
        self.scores = self.sums
        self.examples = [_Example() for _ in range(task.batch)]

    def advance(self) -> None:
        """Take one step; examples that are over take it too, but nothing of theirs counts any more."""
        task = self.task
        step = task.step(self.live.flatten(0, 1), task.rows(self.parents))
        total = (self.sums.flatten()[:, None] + step).view(task.batch, -1)
        self.scores, places = total.topk(task.beams)
        self.parents = places // step.shape[-1]
        self.live = extend(self.live, self.parents, places % step.shape[-1])
        ends = task.ends(self.live) & self.scores.isfinite()
        self._note(ends)
        self.sums = self.scores.masked_fill(ends, -torch.inf)

    def _note(self, ends: Tensor) -> None:
        """Take down what has just ended, (B, K) True."""
        going = [not example.over for example in self.examples]
        for row, beam in ends.nonzero().tolist():
            if going[row]:
                example = self.examples[row]
                example.ended.append((self.live[row, beam].tolist(), self.scores[row, beam].item()))
                example.first = example.first or beam == 0

    def found(self, alpha: float) -> Found:
        """The best replies by score."""
        task, width = self.task, self.live.shape[-1]
        ids = torch.full((task.batch, task.keep, width), task.pad, device=self.live.device)
        scores = torch.full((task.batch, task.keep), -torch.inf, device=self.live.device)
        lengths = torch.zeros_like(ids[..., 0])
        for row, example in enumerate(self.examples):
            scored = [(log / ((2 + len(said)) / 6) ** alpha, said) for said, log in example.ended or [self._cut(row)]]
            for at, (score, said) in enumerate(sorted(scored, key=lambda each: -each[0])[: task.keep]):
                ids[row, at, : len(said)] = torch.tensor(said, device=ids.device)
                scores[row, at], lengths[row, at] = score, len(said)
        return Found(ids, lengths, scores)

    def _cut(self, row: int) -> tuple[list[int], float]:
        """The first beam with its last token replaced by the end token, where there is one."""
        said = self.live[row, 0].tolist()
        return [*said[:-1], *(self.task.eos[:1].tolist() or said[-1:])], self.scores[row, 0].item()
