"""How much each source counts in each layer (Cao et al. 2020, Figure 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any, ClassVar

import torch
from torch import Tensor

from personae.analysis.base import Analysis
from personae.analysis.figures import draw_layers, panels
from personae.analysis.means import Mean, mean_of
from personae.analysis.reading import Reading, Tell, fusions_of
from personae.errors import UserError
from personae.evidence import norms
from personae.fusion import Fusion
from personae.metrics.signature import signature
from personae.runs import Run
from personae.text.pack import REPLY

Lines = Mapping[str, Sequence[Mean]]


@dataclass(frozen=True)
class Weights(Analysis):
    """Per voice and layer: ``weights`` as the parameters have them, ``shares`` of the contributions on data.

    ``meaning``: what the weights are; a share is the mean over the reply's tokens of ||c_s|| / sum ||c||, tokens
    left out where nothing was let through. Either may be missing.
    """

    name: ClassVar[str] = "weights"
    fusion: str
    meaning: str = ""
    weights: Lines = field(default_factory=dict)
    shares: Lines = field(default_factory=dict)
    signatures: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """See ``Analysis``."""
        return {
            "fusion": self.fusion,
            "weights_are": self.meaning or None,
            "weights": {name: [mean.value for mean in line] for name, line in self.weights.items()},
            "contribution_shares": {name: [mean.as_dict() for mean in line] for name, line in self.shares.items()},
            "signatures": list(self.signatures),
        }

    def figures(self) -> dict[str, Any]:
        """One picture, with a panel for what the parameters say and one for what the data show."""
        shown = [
            ("by the parameters", self.weights, fill(self.meaning, 40)),
            ("on data", self.shares, "share of the contributions"),
        ]
        shown = [each for each in shown if each[1]]
        figure, axes = panels(len(shown))
        for each, (title, lines, label) in zip(axes, shown, strict=True):
            draw_layers(each, lines, label, grey=(REPLY,))
            each.set_ylim(bottom=min(0.0, each.get_ylim()[0]))
            each.set_title(f"{self.fusion}: {title}")
        return {self.name: figure}


def analyse_weights(
    run: Run, paths: Sequence[Path] = (), reader: str | None = None, limit: int | None = None, tell: Tell | None = None
) -> Weights:
    """Read the weights of the sources from the parameters, and their shares from ``paths`` where there are any.

    Raises ``UserError`` for a model without fusion, and for one without such parameters where there are no data.
    """
    reading = Reading.of(run, paths, reader, limit) if paths else None
    model: Any = run.model() if reading is None else reading.speaker.model
    fusions = fusions_of(model)
    first, voices = fusions[0], model.voices
    if reading is None and first.weighs_by is None:
        raise UserError(f"fusion '{first.name}' weighs its sources by what it reads: give --data FILE")
    found = Weights(first.name)
    if first.weighs_by is not None:
        weights = torch.stack([each.source_weights().detach() for each in fusions]).float()  # (L, V)
        lines = {voice: [Mean(value) for value in weights[:, at].tolist()] for at, voice in enumerate(voices)}
        found = Weights(first.name, first.weighs_by, lines, signatures=(signature("source_weights"),))
    return found if reading is None else with_shares(found, reading, voices, tell)


def with_shares(found: Weights, reading: Reading, voices: Sequence[str], tell: Tell | None) -> Weights:
    """``found`` with the shares of the contributions on data."""
    sums = reading.by_layer(shares_of, len(voices) + 1, tell)
    shares = {
        voice: [mean_of(layer[:, at], layer[:, -1], reading.conversations) for layer in sums.swapaxes(0, 1)]
        for at, voice in enumerate(voices)
    }
    signatures = (*found.signatures, reading.signature("contribution_share"))
    return Weights(found.fusion, found.meaning, found.weights, shares, signatures)


def shares_of(_: Fusion, __: Sequence[Any], contributions: Sequence[Tensor]) -> Tensor:
    """(B, T, V + 1): each voice's share of the norms, 0 where all are silent, and last whether any spoke."""
    sizes = norms(contributions)
    total = sizes.sum(-1, keepdim=True)
    return torch.cat([sizes / total.clamp_min(torch.finfo(sizes.dtype).tiny), (total > 0).float()], dim=-1)
