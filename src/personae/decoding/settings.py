"""Decoding settings to ``generate()`` arguments."""

import math
from dataclasses import dataclass, replace
from typing import Any

from transformers import GenerationConfig

from personae.errors import UserError, nearest

SEARCHES = STANDARD, PUBLISHED, PARLAI = "standard", "published", "parlai"
RELEASED = {PUBLISHED: 0.6, PARLAI: 0.65}  # the length penalties of the releases


@dataclass(frozen=True)
class Decoding:
    """How a reply is searched: greedy (the default), ``beams`` > 1, or ``sample``.

    ``temperature``, ``top_k`` (0: off) and ``top_p`` (1: off) go with ``sample``; elsewhere they are an error.
    ``length_penalty`` and ``search`` go with ``beams``:

    - ``length_penalty`` a: replies of n tokens compete by log P / ((5 + n) / 6) ** a (Wu et al. 2016; Cao et al. 2020
      take 0.6; 0: by log P), see ``beam``. None: transformers' own beam search, where they compete by log P / n.
    - ``search`` ``published``: the search that Cao et al. released, faults and all, see ``beam_published``; its
      ``length_penalty`` is 0.6 unless given.
    - ``search`` ``parlai``: the search of ParlAI in 2019, with which AdaND was released, see ``beam_parlai``; its
      ``length_penalty`` is 0.65 unless given.
    """

    max_tokens: int = 64
    beams: int = 1
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    copies: int = 1
    length_penalty: float | None = None
    search: str = STANDARD

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
        self._check_search()

    def _check_search(self) -> None:
        """Refuse a search that does not exist, or could not follow the other settings."""
        if self.search not in SEARCHES:
            hint = nearest(self.search, SEARCHES)
            raise UserError(f"decoding.search='{self.search}'.{hint} Choose one of: {', '.join(SEARCHES)}")
        touched = [name for name in ("length_penalty", "search") if getattr(self, name) != getattr(Decoding, name)]
        if touched and self.beams == 1:
            raise UserError(f"decoding.{touched[0]} works only with beams: set decoding.beams=3, or another number")
        if touched and self.sample:
            raise UserError(f"decoding.{touched[0]} works only without sampling: set decoding.sample=false")
        if self.length_penalty is not None and not 0 <= self.length_penalty < math.inf:
            raise UserError(f"decoding.length_penalty={self.length_penalty} should be 0 or more")

    def arguments(self, bos: int, eos: int, pad: int) -> dict[str, Any]:
        """Keyword arguments of ``generate``: its settings and, where the search is one of ours, the search."""
        given = {"generation_config": self._config(bos, eos, pad)}
        if self.length_penalty is None and self.search == STANDARD:
            return given
        from personae.decoding.adapter import CustomSearch  # here, since torch takes seconds to import
        from personae.decoding.beam import beam_search
        from personae.decoding.beam_parlai import parlai_beam_search
        from personae.decoding.beam_published import published_beam_search

        searches = {STANDARD: beam_search, PUBLISHED: published_beam_search, PARLAI: parlai_beam_search}
        alpha = RELEASED[self.search] if self.length_penalty is None else self.length_penalty
        search = searches[self.search]
        return {**given, "custom_generate": CustomSearch(search, alpha)}

    def _config(self, bos: int, eos: int, pad: int) -> GenerationConfig:
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
