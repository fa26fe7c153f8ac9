"""A run's model reading gold replies, with its fusions watched layer by layer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from personae.data.load import Loaded
from personae.errors import UserError
from personae.evaluation.settings import Settings
from personae.evaluation.speaker import Speaker, plan_batches
from personae.fusion import Fusion
from personae.metrics.bootstrap import BOOTSTRAP, Floats
from personae.metrics.signature import signature
from personae.runs import Run
from personae.text.collate import IGNORED
from personae.text.pack import Packed

BATCH = 16
# What a fusion was given and what it returned, to (B, T, K) quantities.
Measure = Callable[[Fusion, Sequence[Any], Sequence[Tensor]], Tensor]
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Reading:
    """A model in float32 and the dialogues that it reads."""

    speaker: Speaker
    data: Loaded
    packed: list[Packed]
    stamp: Mapping[str, object]

    @classmethod
    def of(cls, run: Run, paths: Sequence[Path], reader: str | None = None, limit: int | None = None) -> "Reading":
        """Load the model of ``run`` and the first ``limit`` examples of ``paths``. Raises ``UserError`` as they do."""
        recipe = run.recipe()
        settings = Settings(recipe.decoding, limit)
        data = settings.read(paths, reader, recipe.data.on_error)
        speaker = Speaker(run, recipe.decoding)
        return cls(speaker, data, speaker.pack(data.dialogues), settings.stamp(data))

    @property
    def conversations(self) -> list[str]:
        """The conversation of every example."""
        return [each.conversation for each in self.data.dialogues]

    def signature(self, name: str) -> str:
        """What a number called ``name`` rests on."""
        conversations = len(set(self.conversations))
        return signature(name, n=len(self.packed), conv=conversations, at="reply-tokens", ci=BOOTSTRAP, **self.stamp)

    @torch.inference_mode()
    def by_layer(self, measure: Measure, quantities: int, tell: Tell | None = None) -> Floats:
        """Sums (N, L, K) of ``measure`` over the positions that predict the reply's tokens."""
        fusions = fusions_of(self.speaker.model)
        sums = np.zeros((len(self.packed), len(fusions), quantities))
        done = 0
        for at in plan_batches(self.packed, BATCH):
            sums[at] = self._batch([self.packed[each] for each in at], fusions, measure)
            done += len(at)
            if tell:
                tell("reading", done, len(self.packed))
        return sums

    def _batch(self, packed: Sequence[Packed], fusions: Sequence[Fusion], measure: Measure) -> Floats:
        """Sums (B, L, K) of one batch."""
        batch = self.speaker.move(self.speaker.collate(packed))
        rows = (F.pad(batch["labels"][:, 1:], (0, 1), value=IGNORED) != IGNORED)[..., None]
        found = [(each * rows).double().sum(1) for each in self._watch(batch, fusions, measure)]
        return np.asarray(torch.stack(found, dim=1).cpu())

    def _watch(self, batch: Mapping[str, Any], fusions: Sequence[Fusion], measure: Measure) -> Iterator[Tensor]:
        """(B, T, K) quantities of each layer in turn."""
        found: list[Tensor] = []
        hooks = [
            each.register_forward_hook(lambda one, put, out: found.append(measure(one, put, out))) for each in fusions
        ]
        try:
            self.speaker.model(**batch)
        finally:
            for hook in hooks:
                hook.remove()
        yield from found

    @torch.inference_mode()
    def example(self, at: int, measure: Measure) -> Tensor:
        """Quantities (L, R, K) at the R positions that predict the reply of example ``at``."""
        if not 0 <= at < len(self.packed):
            raise UserError(f"--example {at}: the data have the examples 0 to {len(self.packed) - 1}")
        one = self.packed[at]
        batch = self.speaker.move(self.speaker.collate([one]))
        layers = list(self._watch(batch, fusions_of(self.speaker.model), measure))
        start = len(one.prompt) - 1
        return torch.stack(layers)[:, 0, start : start + len(one.reply)].float().cpu()

    def tokens(self, at: int) -> list[str]:
        """The reply's tokens as text."""
        return [str(self.speaker.tokenizer.decode([token])) for token in self.packed[at].reply]


def fusions_of(model: Any) -> list[Fusion]:
    """The fusions of a model, layer by layer. Raises ``UserError`` for a model without any."""
    fusions = [module for module in model.modules() if isinstance(module, Fusion)]
    if not fusions:
        raise UserError("this model fuses no sources, so there is nothing to analyse: use a run with sources")
    return fusions
