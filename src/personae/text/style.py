"""Spelling conventions of corpora, so that one can be trained on and another scored on."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from personae.errors import UserError, nearest
from personae.text.dialogue import Dialogue

SPACED = re.compile(r"\s*([.,?!;:])\s*")


def convai2(text: str) -> str:
    """ConvAI2's convention: lower case, a blank on both sides of . , ? ! ; : and no other white space."""
    return " ".join(SPACED.sub(r" \1 ", text.lower().replace("’", "'")).split())


STYLES: Mapping[str, Callable[[str], str]] = {"as_read": str, "convai2": convai2}


def restyle(dialogue: Dialogue, style: str) -> Dialogue:
    """``dialogue`` with every text in ``style``. Raises ``UserError`` for an unknown one."""
    if style not in STYLES:
        raise UserError(f"text.style='{style}'.{nearest(style, STYLES)} Choose one of: {', '.join(STYLES)}")
    if style == "as_read":
        return dialogue
    change = STYLES[style]
    return replace(
        dialogue,
        sources={name: tuple(map(change, texts)) for name, texts in dialogue.sources.items()},
        response=change(dialogue.response),
        references=tuple(map(change, dialogue.references)),
        distractors=tuple(map(change, dialogue.distractors)),
    )
