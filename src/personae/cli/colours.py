"""Replies word by word, each coloured by the share of every source in it; without a terminal, in brackets."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    from personae.evidence import Piece

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "orange": (230, 159, 0),
    "blue": (86, 180, 233),
    "green": (0, 158, 115),
    "pink": (204, 121, 167),
    "yellow": (240, 228, 66),
}
SILENT = Style(dim=True)
STEPS = 24
# Most words lie near an even mixture; the legend shows the colours that come out for every share.
CONTRAST = 3


class Painter:
    """Prints replies on ``console``; ``sources`` are those to be told apart (none: plain words).

    On a terminal with colours a word has the mixture of its sources' colours. Elsewhere each word is
    followed by its shares in per cent, in the order of ``sources``: ``rex[71|29]``.
    """

    def __init__(self, console: Console, sources: Sequence[str] = ()) -> None:
        self.console, self.sources = console, tuple(sources)
        self.coloured = console.is_terminal and not console.no_color and console.color_system is not None
        self.colours = dict(zip(self.sources, COLOURS, strict=False))

    def legend(self) -> Text:
        """How to read the words."""
        if not self.coloured:
            return Text(f"in brackets: the share of {' | '.join(self.sources)} in the word, in per cent")
        named = [Text(f"{name} ({colour})", self.style({name: 1.0})) for name, colour in self.colours.items()]
        if len(named) != 2:
            return Text("  ").join(named)
        first, last = self.sources
        mixtures = [step / (STEPS - 1) for step in range(STEPS)]
        bar = [("█", self.style({first: 1 - share, last: share})) for share in mixtures]
        return Text(" ").join([Text("100 %"), named[0], Text.assemble(*bar), named[1], Text("100 %")])

    def style(self, shares: Mapping[str, float]) -> Style:
        """The mixture of the sources' colours, the stronger source drawn out; dim where no source spoke."""
        drawn = {name: share**CONTRAST for name, share in shares.items() if name in self.colours}
        total = sum(drawn.values())
        if not total:
            return SILENT
        parts = [(share / total, COLOURS[self.colours[name]]) for name, share in drawn.items()]
        red, green, blue = (sum(share * colour[at] for share, colour in parts) for at in range(3))
        return Style(color=Color.from_rgb(red, green, blue))

    def word(self, piece: "Piece") -> Text:
        """One word of a reply, without its leading blank."""
        text = printable(piece.text).strip()
        if piece.evidence is None or not self.sources:
            return Text(text)
        if self.coloured:
            return Text(text, self.style(piece.evidence.shares))
        shares = "|".join(f"{100 * piece.evidence.shares[name]:.0f}" for name in self.sources)
        return Text(f"{text}[{shares}]")

    def say(self, words: Iterable["Piece"], head: str = "") -> None:
        """Print the words of one reply as they come, after ``head``; on a terminal lines break between words."""
        self._out(Text(head, "bold"))
        column, indent = len(head), len(head)
        for number, piece in enumerate(words):
            word = self.word(piece)
            if self.console.is_terminal and number and column + 1 + word.cell_len > self.console.width:
                self._out(Text("\n" + " " * indent))
                column = indent
            elif number:
                self._out(Text(" "))
                column += 1
            self._out(word)
            column += word.cell_len
        self._out(Text("\n"))

    def _out(self, text: Text) -> None:
        self.console.print(text, end="", soft_wrap=True, highlight=False)
        self.console.file.flush()


def printable(text: str) -> str:
    """Replace control characters, which a model may well produce, by blanks."""
    return "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in text)
