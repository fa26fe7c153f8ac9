"""METEOR's alignment of a reply with a reference: most matches, fewest chunks, fewest by stem, least distance."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

BEAM = 40  # partial alignments kept, as in METEOR 1.5


class Aligned(NamedTuple):
    """Words matched exactly and by stem, and how many chunks they fall into that are adjacent in both texts."""

    exact: int = 0
    stem: int = 0
    chunks: int = 0


class _Partial(NamedTuple):
    """An alignment of the first words; compared in this order, so that less is better."""

    missing: int = 0  # minus the matches
    chunks: int = 0
    inexact: int = 0
    distance: int = 0
    used: int = 0  # bits: words of the reference
    last: int = -2  # word of the reference that the word before is matched with; -2: with none

    def matched(self, at: int, gold: int, exact: bool) -> "_Partial":
        """This, with word ``at`` matched with word ``gold`` of the reference."""
        return _Partial(
            self.missing - 1,
            self.chunks + (gold != self.last + 1),
            self.inexact + (not exact),
            self.distance + abs(at - gold),
            self.used | 1 << gold,
            gold,
        )


def align(words: Sequence[str], gold: Sequence[str], stems: Sequence[str], gold_stems: Sequence[str]) -> Aligned:
    """Align ``words`` with the reference ``gold``, each word with at most one of the same stem."""
    places = [[at for at, other in enumerate(gold_stems) if other == one] for one in stems]
    wanted = [sum(1 << place for place in each) for each in places]
    beam = [_Partial()]
    for at, word in enumerate(words):
        later = 0
        for bits in wanted[at + 1 :]:
            later |= bits
        grown = [one for each in beam for one in _grow(each, at, word, gold, places[at], later)]
        beam = _best(grown)
    best = beam[0]
    return Aligned(-best.missing - best.inexact, best.inexact, best.chunks)


def _grow(
    partial: _Partial, at: int, word: str, gold: Sequence[str], places: Sequence[int], later: int
) -> Iterator[_Partial]:
    """Match word ``at`` with each free place; or with none, where a later word may want one of them."""
    free = [place for place in places if not partial.used >> place & 1]
    for place in free:
        yield partial.matched(at, place, gold[place] == word)
    if not free or any(later >> place & 1 for place in free):
        yield partial._replace(last=-2)


def _best(partials: Sequence[_Partial]) -> list[_Partial]:
    """The best, each once for what is used and where it stands."""
    kept: dict[tuple[int, int], _Partial] = {}
    for one in sorted(partials):
        kept.setdefault((one.used, one.last), one)
        if len(kept) == BEAM:
            break
    return list(kept.values())
