"""How an evaluation is run: what decides its replies, and what its signatures and its journal say of that."""

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from personae._version import __version__
from personae.data.load import Loaded, load
from personae.decoding import PUBLISHED, Decoding
from personae.errors import UserError, nearest
from personae.ranking import require_candidates
from personae.runs import Run
from personae.training.trainer import has_bf16

SHORT = 12
PRECISIONS = ("fp32", "bf16")
UNRANKED = "none"
RANKINGS = (UNRANKED, "likelihood", "head")
LIBRARIES = ("torch", "transformers", "sacrebleu")


@dataclass(frozen=True)
class Settings:
    """How replies are made.

    ``limit``: the first so many examples (None: all); ``batch``: replies at once; ``seed``: of sampling;
    ``precision``: fp32, or bf16 for a model's own replies: faster, but near ties may fall otherwise;
    ``candidates``: what the model ranks candidate replies by, always in fp32.
    """

    decoding: Decoding
    limit: int | None = None
    batch: int = 64
    seed: int = 0
    precision: str = "fp32"
    candidates: str = UNRANKED

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UserError(f"limit={self.limit}: score at least 1 example")
        if self.batch < 1:
            raise UserError(f"batch={self.batch}: answer at least 1 example at once")
        if self.precision not in PRECISIONS:
            hint = nearest(self.precision, PRECISIONS)
            raise UserError(f"precision='{self.precision}'.{hint} Choose one of: {', '.join(PRECISIONS)}")
        if self.candidates not in RANKINGS:
            hint = nearest(self.candidates, RANKINGS)
            raise UserError(f"candidates='{self.candidates}'.{hint} Choose one of: {', '.join(RANKINGS)}")
        if self.precision == "bf16" and not has_bf16():
            raise UserError("precision=bf16: this machine has no bf16 units; leave it at fp32")

    def read(self, paths: Sequence[str | Path], reader: str | None, on_error: str) -> Loaded:
        """The examples to score; the hash is that of the whole files. Raises ``UserError`` where candidates lack."""
        data = load(paths, reader, on_error)
        data = replace(data, dialogues=data.dialogues[: self.limit])
        if self.candidates != UNRANKED:
            require_candidates(data.dialogues)
        return data

    def stamp(self, data: Loaded) -> dict[str, object]:
        """What every signature says of the data."""
        first = {} if self.limit is None else {"limit": f"first-{self.limit}"}
        return {"data": data.sha256[:SHORT], **first}

    def spoken(self) -> dict[str, object]:
        """What the signatures of metrics on a model's words say of how it spoke."""
        chosen = {key: value for key, value in asdict(self.decoding).items() if value != getattr(Decoding, key)}
        chosen["max_tokens"] = self.decoding.max_tokens
        kind = "sample" if self.decoding.sample else "beam" if self.decoding.beams > 1 else "greedy"
        said = [kind, *(f"{key}={value}" for key, value in sorted(chosen.items()) if key != "sample")]
        drawn = {"seed": self.seed} if self.decoding.sample else {}
        together = self.decoding.sample or self.decoding.search == PUBLISHED  # that search stops batch by batch
        drawn |= {"batch": self.batch} if together else {}
        return {"decoding": ",".join(said), "precision": self.precision, **drawn}

    def key(self, run: Run, data: Loaded) -> str:
        """A hash of all that the replies depend on."""
        with (run.model_folder / "model.safetensors").open("rb") as weights:
            model = hashlib.file_digest(weights, "sha256").hexdigest()
        text = json.dumps([model, run.recipe().as_dict(), data.sha256, asdict(self), versions()])
        return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"personae": __version__, "python": platform.python_version(), **libraries}


def facts(run: Run, paths: Sequence[str | Path], data: Loaded, settings: Settings) -> dict[str, Any]:
    """What was scored and how, for ``scores.json``."""
    return {
        "run": str(run.folder),
        "data": {
            "path": [str(path) for path in paths],
            "sha256": data.sha256,
            "examples": len(data.dialogues),
            "conversations": len({each.conversation for each in data.dialogues}),
            "limit": settings.limit,
            "skipped_lines": data.skipped,
        },
        "decoding": asdict(settings.decoding),
        "batch": settings.batch,
        "seed": settings.seed,
        "precision": {"gold_replies": "fp32", "replies": settings.precision},
        "candidates": settings.candidates,
        "versions": versions(),
    }
