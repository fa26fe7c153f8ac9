"""Leave one out: what a reply's log-probability loses without one sentence or turn.

Shapes: B batch, T prompt and reply, K tokens of the reply with its end token, M texts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from personae.errors import UserError
from personae.text.dialogue import Dialogue
from personae.text.pack import Origin, Packed, Spans

Pack = Callable[[Dialogue], Packed]


def texts_of(dialogue: Dialogue, sources: Sequence[str]) -> list[Origin]:
    """Every text of ``sources`` that has words, in order."""
    found = [(name, at) for name in sources for at in range(len(dialogue.sources.get(name, ())))]
    return [(name, at) for name, at in found if dialogue.sources[name][at].strip()]


def without(dialogue: Dialogue, origin: Origin) -> Dialogue:
    """``dialogue`` as if one text had never been there."""
    name, at = origin

    def rest(of: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        return {key: each[:at] + each[at + 1 :] if key == name else each for key, each in of.items()}

    return replace(dialogue, sources=rest(dialogue.sources), roles=rest(dialogue.roles))


def leave_out(pack: Pack, dialogue: Dialogue, packed: Packed, origin: Origin) -> Packed | None:
    """``dialogue`` packed once more without the text ``origin``.

    Of a source's last text only the words go and its marks stay; None where nothing at all would stay.
    """
    name, at = origin
    if any(text.strip() for i, text in enumerate(dialogue.sources[name]) if i != at):
        try:
            return pack(without(dialogue, origin))
        except UserError:  # what it read in its place, older turns, is blank or does not fit beside the reply
            return blanked(packed, origin)
    return blanked(packed, origin)


def blanked(packed: Packed, origin: Origin) -> Packed | None:
    """``packed`` without the words of one text."""
    keep = {name: [each != origin for each in packed.origins(name)] for name in packed.sources}
    if not all(any(row) for row in keep.values()):
        return None
    kept = [each != origin for each in packed.prompt_origins]
    types = packed.types and {name: chosen(row, keep[name]) for name, row in packed.types.items()}
    return replace(
        packed,
        sources={name: chosen(row, keep[name]) for name, row in packed.sources.items()},
        items={name: chosen(row, keep[name]) for name, row in packed.items.items()},
        prompt=chosen(packed.prompt, kept),
        types=types,
        prompt_types=packed.prompt_types and chosen(packed.prompt_types, kept),
        prompt_items=chosen(packed.prompt_items, kept),
        spans={name: fewer(packed.spans[name], row) for name, row in keep.items()},
        prompt_spans=fewer(packed.prompt_spans, kept),
    )


def chosen(row: Sequence[int], keep: Sequence[bool]) -> list[int]:
    """Those of ``row`` to keep."""
    return [each for each, stays in zip(row, keep, strict=True) if stays]


def fewer(spans: Spans, keep: Sequence[bool]) -> Spans:
    """The spans of what stays."""
    start, left = 0, []
    for name, length in spans:
        left.append((name, sum(keep[start : start + length])))
        start += length
    return tuple(left)


def read_in(packed: Packed) -> set[Origin]:
    """The texts that the model sees at least one word of."""
    rows = [*(packed.origins(name) for name in packed.sources), packed.prompt_origins]
    return {origin for row in rows for origin in row if origin[1] >= 0}


def reply_nats(nll: Tensor, packed: Sequence[Packed]) -> list[Tensor]:
    """Per example (K,) nats of its reply's tokens, from those of whole rows (B, T), padded on the right."""
    starts = [len(each.prompt) for each in packed]
    rows = zip(nll.double().cpu(), starts, packed, strict=True)
    return [row[start : start + len(each.reply)] for row, start, each in rows]


def lost(with_all: Tensor, left_out: Mapping[Origin, Tensor | None], texts: Sequence[Origin]) -> list[Tensor | None]:
    """Per text (K,) nats that each token of the reply loses without it; exactly 0 for one that was never read."""
    nothing = torch.zeros_like(with_all)
    found: list[Tensor | None] = []
    for origin in texts:
        without_it = left_out.get(origin, with_all)
        found.append(None if without_it is None else nothing if without_it is with_all else without_it - with_all)
    return found
