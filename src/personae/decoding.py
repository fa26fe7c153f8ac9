"""Decoding settings to ``generate()`` arguments. Shapes: B batch."""

from dataclasses import dataclass, replace
from typing import Any

from transformers import GenerationConfig

from personae.errors import UserError


@dataclass(frozen=True)
class Decoding:
    """How a reply is searched: greedy (the default), ``beams`` > 1, or ``sample``.

    ``temperature``, ``top_k`` (0: off) and ``top_p`` (1: off) go with ``sample``; elsewhere they are an error.
    """

    max_tokens: int = 64
    beams: int = 1
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    copies: int = 1

    def __post_init__(self) -> None:
        touched = [name for name in ("temperature", "top_k", "top_p") if getattr(self, name) != getattr(Decoding, name)]
        if touched and not self.sample:
            raise UserError(f"decoding.{touched[0]} works only with sampling: set decoding.sample=true")
        if self.max_tokens < 1 or self.beams < 1 or self.copies < 1:
            raise UserError("decoding: max_tokens, beams and copies should be 1 or more")
        if not self.temperature > 0 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise UserError("decoding: temperature should be above 0, top_p in (0, 1], top_k 0 or more")
        if not self.sample and self.copies > self.beams:
            raise UserError(f"decoding.copies={self.copies} needs sampling or as many beams")

    def config(self, bos: int, eos: int, pad: int) -> GenerationConfig:
        """The settings of transformers' ``generate``."""
        options: dict[str, Any] = {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}
        return GenerationConfig(
            max_new_tokens=self.max_tokens,
            num_beams=self.beams,
            do_sample=self.sample,
            num_return_sequences=self.copies,
            bos_token_id=bos,
            eos_token_id=eos,
            pad_token_id=pad,
            **(options if self.sample else {}),
        )

    def but(self, **changes: Any) -> "Decoding":
        """A copy with some settings changed."""
        return replace(self, **changes)
