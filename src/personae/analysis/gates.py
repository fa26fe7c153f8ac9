"""How far gates and masks are open, by layer and by token (Huang et al. 2023, Section 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from personae.analysis.base import Analysis
from personae.analysis.figures import draw_layers, panels
from personae.analysis.means import Mean, mean_of
from personae.analysis.reading import Reading, Tell, fusions_of
from personae.errors import UserError
from personae.fusion import Fusion
from personae.runs import Run

CLOSED = "all closed"
Lines = Mapping[str, Sequence[Mean]]


@dataclass(frozen=True)
class Example:
    """One reply: its tokens, and per source what was let through, (L, R) means over D of weight times mask."""

    number: int
    conversation: str
    tokens: Sequence[str]
    through: Mapping[str, Tensor]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        through = {
            name: [[round(value, 6) for value in row] for row in each.tolist()] for name, each in self.through.items()
        }
        return {
            "example": self.number,
            "conversation": self.conversation,
            "tokens": list(self.tokens),
            "let_through": through,
        }


@dataclass(frozen=True)
class GateReport(Analysis):
    """Per source and layer, over the reply's tokens and the D entries of each: mean ``weights``, share ``open``.

    ``open`` also has the share of entries at which every source is closed.
    """

    name: ClassVar[str] = "gates"
    fusion: str
    weights: Lines
    open: Lines
    example: Example
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """See ``Analysis``."""
        return {
            "fusion": self.fusion,
            "mean_weight": {name: [mean.as_dict() for mean in line] for name, line in self.weights.items()},
            "open_share": {name: [mean.as_dict() for mean in line] for name, line in self.open.items()},
            "example": self.example.as_dict(),
            "signature": self.signature,
        }

    def figures(self) -> dict[str, Any]:
        """Lines over the layers, and the example as a heat map."""
        figure, (left, right) = panels(2)
        draw_layers(left, self.weights, "mean weight")
        draw_layers(right, self.open, "share of entries", grey=(CLOSED,))
        left.set_title(f"{self.fusion}: gates")
        right.set_title(f"{self.fusion}: open masks")
        for axes in (left, right):
            axes.set_ylim(-0.03, 1.03)
        return {self.name: figure, f"{self.name}-example": heat_map(self.example)}


def analyse_gates(
    run: Run,
    paths: Sequence[Path],
    reader: str | None = None,
    limit: int | None = None,
    example: int = 0,
    tell: Tell | None = None,
) -> GateReport:
    """Watch the gates of the model of ``run`` while it reads ``paths``; the heat map shows example ``example``.

    Raises ``UserError`` for a fusion without gates.
    """
    chosen = run.recipe().model.fusion
    if chosen and not Fusion.get(str(chosen["name"])).gated:
        raise UserError(
            f"fusion '{chosen['name']}' has no gates: personae analyse weights shows what its sources contribute"
        )
    reading = Reading.of(run, paths, reader, limit)
    fusions_of(reading.speaker.model)
    sources = list(reading.speaker.model.config.sources)
    shown = example_of(reading, example, sources)
    sums = reading.by_layer(gates_of, 2 * len(sources) + 2, tell).swapaxes(0, 1)  # (L, N, K)

    def line(at: int) -> list[Mean]:
        return [mean_of(layer[:, at], layer[:, -1], reading.conversations) for layer in sums]

    count = len(sources)
    opened = {name: line(count + at) for at, name in enumerate(sources)} | {CLOSED: line(2 * count)}
    weights = {name: line(at) for at, name in enumerate(sources)}
    name = fusions_of(reading.speaker.model)[0].name
    return GateReport(name, weights, opened, shown, reading.signature("gates"))


def gates_of(fusion: Fusion, given: Sequence[Any], _: Sequence[Tensor]) -> Tensor:
    """(B, T, 2 V + 2): means over D of each view's weight, of each view's mask, of all being closed; and 1."""
    weights, masks = fusion.gates(given[0], given[1])
    opened = torch.stack([mask > 0.5 for mask in masks])
    parts = [*(each.float().mean(-1) for each in weights), *opened.float().mean(-1)]
    closed = (~opened.any(0)).float().mean(-1)
    return torch.stack([*parts, closed, torch.ones_like(closed)], dim=-1)


def through_of(fusion: Fusion, given: Sequence[Any], _: Sequence[Tensor]) -> Tensor:
    """(B, T, V): means over D of weight times mask."""
    weights, masks = fusion.gates(given[0], given[1])
    return torch.stack([(weight * mask).float().mean(-1) for weight, mask in zip(weights, masks, strict=True)], dim=-1)


def example_of(reading: Reading, at: int, sources: Sequence[str]) -> Example:
    """What is let through in the reply of example ``at``."""
    found = reading.example(at, through_of)
    through = {name: found[..., number] for number, name in enumerate(sources)}
    return Example(at, reading.data.dialogues[at].conversation, reading.tokens(at), through)


def heat_map(example: Example) -> Any:
    """One panel for each source, layers from bottom to top, one column for each token that is predicted."""
    from matplotlib.figure import Figure

    layers, tokens = next(iter(example.through.values())).shape
    most = max(float(each.max()) for each in example.through.values()) or 1.0
    size = (max(4.5, 0.42 * tokens + 2.2), len(example.through) * (0.26 * layers + 0.7) + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(example.through), 1, sharex=True, squeeze=False)[:, 0]
    for each, (name, through) in zip(axes, example.through.items(), strict=True):
        image = each.imshow(through.numpy(), cmap="cividis", vmin=0, vmax=most, aspect="auto", origin="lower")
        each.set_title(name)
        each.set_ylabel("layer")
        each.set_yticks(range(layers), range(1, layers + 1))
    axes[-1].set_xticks(
        range(tokens), [token.strip() or repr(token) for token in example.tokens], rotation=60, ha="right"
    )
    figure.colorbar(image, ax=list(axes), label="weight × mask, mean over units")
    return figure
