"""Wins, ties and losses of one model against another by the length of the history (Cao et al. 2020)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from personae.analysis.base import Analysis
from personae.analysis.means import Mean, mean_of
from personae.errors import UserError
from personae.metrics import Metric, Reply
from personae.metrics.bootstrap import BOOTSTRAP, Floats
from personae.metrics.sample import Sample, chunks
from personae.metrics.signature import signature
from personae.metrics.summed import Summed

# Utterances before the reply: up to SHORT, over LONG, and between.
SHORT, LONG = 3, 9
LENGTHS = {"short": f"up to {SHORT}", "middle": f"{SHORT + 1} to {LONG}", "long": f"over {LONG}"}
ALL = "all"
SAME = 1e-9
COLOURS = {"win": "#56b4e9", "tie": "#dddddd", "loss": "#e69f00"}


@dataclass(frozen=True)
class Judgement:
    """Of one turn, by its number: ``outcome`` is 1 where the first model won, -1 where it lost, else 0."""

    turn: int
    outcome: int


@dataclass(frozen=True)
class Row:
    """Judgements of turns with a history of some length: shares, and wins less losses."""

    judgements: int
    conversations: int
    win: Mean
    tie: Mean
    loss: Mean
    net: Mean

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        shares = {name: getattr(self, name).as_dict() for name in ("win", "tie", "loss", "net")}
        return {"judgements": self.judgements, "conversations": self.conversations, **shares}


@dataclass(frozen=True)
class Wins(Analysis):
    """Rows by length of the history, and of all; lengths without a judgement have none."""

    name: ClassVar[str] = "wins"
    by: str
    rows: Mapping[str, Row]
    undefined: int
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """See ``Analysis``."""
        rows = {name: row.as_dict() for name, row in self.rows.items()}
        return {
            "by": self.by,
            "utterances": LENGTHS,
            "rows": rows,
            "undefined": self.undefined,
            "signature": self.signature,
        }

    def figures(self) -> dict[str, Any]:
        """One bar for each length, split in wins, ties and losses."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 1.2 + 0.5 * len(self.rows)), layout="constrained")
        axes = figure.add_subplot(1, 1, 1, xlabel=f"% of judgements, by {self.by}")
        for at, row in enumerate(self.rows.values()):
            start = 0.0
            for kind, colour in COLOURS.items():
                share = 100 * getattr(row, kind).value
                axes.barh(at, share, left=start, color=colour, edgecolor="white", label=kind if at == 0 else None)
                if share >= 6:
                    axes.text(start + share / 2, at, f"{share:.0f}", ha="center", va="center")
                start += share
        labels = [
            f"{name}{f' ({LENGTHS[name]})' if name in LENGTHS else ''}, n={row.judgements}"
            for name, row in self.rows.items()
        ]
        axes.set_yticks(range(len(self.rows)), labels)
        axes.set_xlim(0, 100)
        axes.invert_yaxis()
        axes.legend(ncols=3, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1))
        return {self.name: figure}


def analyse_wins(
    ours: Sequence[Reply], judgements: Sequence[Judgement], by: str, undefined: int = 0, **stamp: object
) -> Wins:
    """Sum ``judgements`` up by the history of the turns that they are of; ``stamp`` goes into the signature."""
    if not judgements:
        raise UserError(f"{by} tells none of the replies apart: there is no judgement")
    lengths = [length_of(ours[each.turn], each.turn) for each in judgements]
    groups = {
        name: [each for each, length in zip(judgements, lengths, strict=True) if length == name] for name in LENGTHS
    }
    rows = {name: row_of(ours, some) for name, some in {**groups, ALL: list(judgements)}.items() if some}
    fields = {"by": by, "n": len(judgements), "conv": rows[ALL].conversations, **stamp, "ci": BOOTSTRAP}
    return Wins(by, rows, undefined, signature("wins", **fields))


def row_of(replies: Sequence[Reply], judgements: Sequence[Judgement]) -> Row:
    """The shares among ``judgements``, drawn by conversation."""
    names = [replies[each.turn].conversation or f"turn {each.turn}" for each in judgements]
    outcomes = np.array([each.outcome for each in judgements])
    ones = np.ones(len(outcomes))
    win, tie, loss = (mean_of((outcomes == kind).astype(float), ones, names) for kind in (1, 0, -1))
    return Row(len(outcomes), len(set(names)), win, tie, loss, mean_of(outcomes.astype(float), ones, names))


def length_of(reply: Reply, turn: int) -> str:
    """Short, middle or long, by the utterances of the context before the reply."""
    if "context" not in reply.sources:
        raise UserError(f"reply {turn} has no 'context': history lengths need predictions.jsonl of personae evaluate")
    said = len(reply.sources["context"])
    return "short" if said <= SHORT else "long" if said > LONG else "middle"


def check_pairs(ours: Sequence[Reply], theirs: Sequence[Reply]) -> None:
    """Refuse replies to different turns."""
    if len(ours) != len(theirs):
        raise UserError(f"{len(ours)} replies against {len(theirs)}: evaluate both runs on the same data")
    for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if (one.conversation, one.references, one.sources) != (other.conversation, other.references, other.sources):
            raise UserError(f"reply {at} answers another turn in each file: evaluate both runs on the same data")


def judge_by_metric(name: str, ours: Sequence[Reply], theirs: Sequence[Reply]) -> tuple[list[Judgement], int]:
    """A judgement of each turn by a metric's value of its reply, and for how many turns it has none."""
    check_pairs(ours, theirs)
    kind = Metric.get(name)
    if not issubclass(kind, Summed):
        fit = ", ".join(each for each in Metric.names() if issubclass(Metric.get(each), Summed))
        raise UserError(f"metric '{name}' has no value for a single reply: choose one of {fit}")
    if kind.higher_is_better is None:
        raise UserError(f"metric '{name}' has no better and worse: choose another")
    first, second = values(kind(), ours), values(kind(), theirs)
    gain = (first - second) * (1 if kind.higher_is_better else -1)
    known = ~np.isnan(gain)
    outcomes = np.where(np.abs(gain) <= SAME, 0, np.sign(np.nan_to_num(gain)))
    return [Judgement(int(at), int(outcomes[at])) for at in np.flatnonzero(known)], int((~known).sum())


def values(metric: Summed, replies: Sequence[Reply]) -> Floats:
    """(N,) the metric's value of each reply; NaN where it is undefined."""
    if not metric.applies(replies):
        raise UserError(f"metric '{metric.name}': the replies lack what it rests on ({metric.summary()})")
    parts = [np.asarray(metric.statistics(chunk), float) for chunk in chunks(replies, Sample())]
    return metric.combine(np.concatenate(parts).reshape(len(replies), -1))
