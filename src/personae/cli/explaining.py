"""An explained reply in the terminal: its words coloured, and what each text has to do with it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from personae.cli import show
from personae.cli.colours import Painter, printable
from personae.evidence.shares import Evidence, Piece

if TYPE_CHECKING:
    from rich.console import Console

    from personae.evidence import Explained, Word

LEFT_OUT = (
    "left out: what the reply's log-probability loses without the text, in nats; above 0 it made the reply likelier"
)
NOT_WHY = "attention is where the model looked, not why it said something: that is what leaving a text out tests"


def print_explained(explained: "Explained", console: "Console") -> None:
    """Print the reply in the colours of its sources, its words with their strongest texts, and all texts."""
    painter = Painter(console, tuple(explained.shares or ()))
    console.print(painter.legend(), soft_wrap=True)
    painter.say(Piece(f" {word.text}", Evidence(word.shares)) for word in explained)
    print(f"{explained.nats:.3f} nats over {explained.tokens} tokens, end token included\n")
    show.print_table(
        "words and the text that is strongest in each",
        ("", *(explained.shares or {}), "by attention", "by leaving it out"),
        [word_row(explained, word) for word in explained],
    )
    show.print_table(
        "texts and what they have to do with the reply",
        ("", "attention", "left out", "per token", ""),
        [*text_rows(explained), *rest_rows(explained)],
    )
    for line in notes(explained):
        print(line)


def word_row(explained: "Explained", word: "Word") -> list[str]:
    """One word: its shares, and the text that is strongest in it by either view."""
    from personae.evidence.explained import strongest

    found = [printable(word.text), *map(percent, word.shares.values())]
    for values, shown in ((word.texts, percent), (word.nats, nats)):
        at = strongest(values)
        found.append("-" if at is None else f"{explained.texts[at].label}  {shown(values[at])}")
    return found


def text_rows(explained: "Explained") -> Iterator[list[str]]:
    """The texts, each with both views side by side."""
    for text in explained.texts:
        told = printable(text.text) if text.read else f"[cut off, never read] {printable(text.text)}"
        yield [text.label, percent(text.share), nats(text.nats), nats(text.nats_per_token), told]


def rest_rows(explained: "Explained") -> Iterator[list[str]]:
    """What the attention view has beside texts: marks, and the reply itself."""
    for name, share in (explained.marks or {}).items():
        if share:
            yield [name, percent(share), "", "", "[marks and separators]"]
    own = own_share(explained.shares or {})
    if own is not None:
        yield ["reply", percent(own), "", "", "[the reply so far]"]


def own_share(shares: Mapping[str, float]) -> float | None:
    """The reply's own share, where it is a voice."""
    from personae.text.pack import REPLY

    return shares.get(REPLY)


def notes(explained: "Explained") -> list[str]:
    """How to read the two views."""
    from personae.evidence.explained import VIEWS

    found = [f"attention: {VIEWS[explained.view]}", LEFT_OUT]
    if explained.prompted:
        told = " and ".join(explained.prompted)
        found.append(f"{told}: also in the prompt, which the attention view does not see; left out of both")
    return [*found, NOT_WHY]


def percent(share: float | None) -> str:
    """A share; a dash for none."""
    return "-" if share is None else f"{share:.1%}"


def nats(value: float | None) -> str:
    """Nats with their sign; a dash for none."""
    return "-" if value is None else f"{value:+.3f}"
