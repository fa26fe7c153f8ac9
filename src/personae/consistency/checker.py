"""Checker: a classifier that says whether a reply follows from a persona sentence.

Shapes: B claims of a batch, T tokens.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from personae.consistency.labels import CONTRADICTS, LABELS, SIGNS
from personae.consistency.reading import Marked, Paired, Reading
from personae.errors import UserError
from personae.metrics.c_score import Claim, claims_of
from personae.runs import write_json
from personae.text.tokenizer import load_tokenizer

ABOUT = "checker.json"
BATCH = 128
REMEMBERED = 500_000
SHORT = 12
MAKE_ONE = "make one with personae checker train --out DIR"


class Checker:
    """Labels claims as entails, neutral or contradicts; a ``Judge`` for the metric ``c_score``.

    ``order``: the labels of the model's outputs; ``about``: the content of ``checker.json``, with the accuracy on
    held-out pairs. Labels of claims seen before are remembered. Equal claims get equal labels whatever stands
    beside them in a batch.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        reading: Reading,
        order: Sequence[str] = LABELS,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model: Any = model.eval()
        self.model.to(self.device)
        self.reading, self.order, self.about = reading, tuple(order), dict(about or {})
        self._known: dict[Claim, str] = {}

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Load a saved checker. Raises ``UserError`` for a folder that holds none, or a broken one."""
        about = read_about(Path(folder))
        try:
            model = AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True)
            if about["reading"]["kind"] == Marked.name:
                reading: Reading = Marked(load_tokenizer(folder))
            else:
                options = {key: about["reading"][key] for key in ("question", "window")}
                reading = Paired(AutoTokenizer.from_pretrained(folder), **options)
        except (SafetensorError, RuntimeError, OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{folder} holds no whole checker ({first_line(error)}): {MAKE_ONE}") from error
        return cls(model, reading, about["labels"], about)

    def save(self, folder: Path) -> None:
        """Write model, tokenizer and, last, ``checker.json``. Raises ``UserError`` where it cannot be written."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ABOUT).unlink(missing_ok=True)
            self.model.save_pretrained(folder)
            self.reading.save(folder)
            with (folder / "model.safetensors").open("rb") as weights:
                self.about["sha256"] = hashlib.file_digest(weights, "sha256").hexdigest()
            write_json(folder / ABOUT, {"labels": list(self.order), **self.about})
        except (OSError, SafetensorError) as error:
            raise UserError(f"cannot save the checker to {folder}: {first_line(error)}") from error

    @property
    def fields(self) -> dict[str, object]:
        """For signatures: hash of the weights, and the accuracy on each held-out set."""
        accuracy = {name: f"{each['accuracy']:.3f}" for name, each in self.held_out.items()}
        known = ",".join(f"{name}={value}" for name, value in accuracy.items())
        return {"checker": str(self.about.get("sha256", "unsaved"))[:SHORT], "held_out": known or "untested"}

    @property
    def held_out(self) -> Mapping[str, Any]:
        """Accuracy, interval and confusion on each set of pairs that training left out."""
        found: Mapping[str, Any] = self.about.get("held_out", {})
        return found

    def __call__(self, claims: Sequence[Claim]) -> list[int]:
        """1, 0 or -1 for each claim."""
        return [SIGNS[label] for label in self.labels(claims)]

    def labels(self, claims: Sequence[Claim]) -> list[str]:
        """The label of each claim; batches hold claims of like length, and none twice."""
        fresh = [claim for claim in dict.fromkeys(claims) if claim not in self._known]
        if len(self._known) + len(fresh) > REMEMBERED:
            self._known = {claim: self._known[claim] for claim in claims if claim in self._known}
        self._known.update(self._classify(fresh))
        return [self._known[claim] for claim in claims]

    def c_scores(self, persona: Sequence[str], question: str, replies: Sequence[str]) -> list[int]:
        """The C-score of each reply to ``question``: the sum over the persona's sentences."""
        groups = [claims_of(persona, question, reply) for reply in replies]
        signs = iter(self([claim for group in groups for claim in group]))
        return [sum(next(signs) for _ in group) for group in groups]

    def contradicted(self, persona: Sequence[str], question: str, reply: str) -> list[str]:
        """The persona's sentences that ``reply`` contradicts."""
        claims = claims_of(persona, question, reply)
        labels = zip(claims, self.labels(claims), strict=True)
        return [claim.sentence for claim, label in labels if label == CONTRADICTS]

    @torch.inference_mode()
    def _classify(self, claims: Sequence[Claim]) -> Iterator[tuple[Claim, str]]:
        rows = [(claim, self.reading.row(claim)) for claim in claims]
        rows.sort(key=lambda each: len(each[1]["input_ids"]))
        for some in (rows[start : start + BATCH] for start in range(0, len(rows), BATCH)):
            batch = self.reading.batch([row for _, row in some])
            logits = self.model(**{key: each.to(self.device) for key, each in batch.items()}).logits
            for (claim, _), best in zip(some, logits.argmax(-1).tolist(), strict=True):
                yield claim, self.order[best]


def read_about(folder: Path) -> dict[str, Any]:
    """The content of a checker's ``checker.json``. Raises ``UserError`` where there is none that is whole."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{folder} is no checker (no {ABOUT}): {MAKE_ONE}, or with personae checker adopt") from error
    except ValueError as error:
        raise UserError(f"{folder / ABOUT} is damaged: {MAKE_ONE}") from error
    if not isinstance(about, dict) or sorted(about.get("labels", [])) != sorted(LABELS) or "reading" not in about:
        raise UserError(f"{folder / ABOUT} is not one of a checker: {MAKE_ONE}")
    return about


def first_line(error: BaseException) -> str:
    """The first line of what a library had to say."""
    return (str(error).splitlines() or [type(error).__name__])[0]
