"""One page, complete in itself, that shows an explained reply: nothing is fetched, every text is escaped."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from personae.evidence.explained import VIEWS, Explained, Text, Word
from personae.text.pack import REPLY

# Colours there are for voices, in page.css; further ones share the last.
COLOURS = 6
ATTENTION, LEFT_OUT = "attention", "left-out"
# From so many nats on a word's bar has its full strength.
CLEAR = 1.0


def write_page(path: Path, explained: Explained) -> Path:
    """Write the page of ``explained`` to ``path``; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(explained), encoding="utf-8")
    return path


def render(explained: Explained) -> str:
    """The page as HTML."""
    voices = list(explained.shares or {})
    content = {
        "style": asset("page.css"),
        "script": asset("page.js"),
        "title": escape(f"Why “{explained.reply}”?"),
        "words": "\n".join(word_button(at, word, explained, voices) for at, word in enumerate(explained.words)),
        "rows": "\n".join(row(at, text, explained, voices) for at, text in enumerate(explained.texts)),
        "legend": "\n".join(legend(explained, voices)),
        "notes": "\n".join(f"<li>{note}</li>" for note in notes(explained)),
        "numbers": numbers(explained),
        "reply": escape(f"{explained.nats:.3f} nats over {explained.tokens} tokens, end token included"),
        "data": as_script(explained),
    }
    page = asset("page.html")
    for name, value in content.items():  # texts are escaped: none can hold such a place
        page = page.replace(f"<!--{name}-->", value)
    return page


def asset(name: str) -> str:
    """A part of the page."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def as_script(explained: Explained) -> str:
    """What the page's script works with, as JSON that no text can break out of."""
    known = {
        "texts": [{"label": text.label, "attention": text.share, "left-out": text.nats} for text in explained.texts],
        "words": [{"text": word.text, "attention": word.texts, "left-out": word.nats} for word in explained.words],
    }
    plain = json.dumps(known, ensure_ascii=True)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def word_button(at: int, word: Word, explained: Explained, voices: Sequence[str]) -> str:
    """One word of the reply, under it a bar for each view."""
    attention = bar(word.shares, voices)
    helped = by_voice(explained, word, voices)
    left_out = bar(helped, voices)
    clear = min(1.0, sum(helped.values()) / CLEAR)
    style = f"--attention: {attention}; --left-out: {left_out}; --clear: {clear:.3f}"
    return (
        f'<button type="button" class="word" data-word="{at}" aria-pressed="false" style="{style}">'
        f"{escape(word.text)}</button>"
    )


def by_voice(explained: Explained, word: Word, voices: Sequence[str]) -> dict[str, float]:
    """Nats above 0 that a word loses without each text, summed by the voice that the text belongs to."""
    found = dict.fromkeys(voices, 0.0)
    for text, nats in zip(explained.texts, word.nats, strict=True):
        name = voice_of(text, voices)
        if name is not None:
            found[name] += max(0.0, nats or 0.0)
    return found


def voice_of(text: Text, voices: Sequence[str]) -> str | None:
    """The voice that a text belongs to: its source, or one that several share."""
    return next((name for name in voices if text.source in name.split("+")), None)


def bar(parts: Mapping[str, float], voices: Sequence[str]) -> str:
    """A CSS gradient with a stretch for each voice."""
    total, start, stops = sum(parts.values()), 0.0, []
    for name in voices if total > 0 else ():
        end = start + 100 * parts[name] / total
        stops.append(f"var(--voice-{colour(name, voices)}) {start:.2f}% {end:.2f}%")
        start = end
    return f"linear-gradient(to right, {', '.join(stops)})" if stops else "none"


def colour(name: str | None, voices: Sequence[str]) -> int:
    """The number of a voice's colour."""
    return min(voices.index(name), COLOURS - 1) if name in voices else COLOURS - 1


def row(at: int, text: Text, explained: Explained, voices: Sequence[str]) -> str:
    """One sentence or turn with both views."""
    note = "" if text.read else ' <span class="cut">cut off, never read</span>'
    shown = f'<td class="text" dir="auto">{escape(text.text)}{note}</td>'
    swatch = f'<span class="swatch" style="background: var(--voice-{colour(voice_of(text, voices), voices)})"></span>'
    return (
        f'<tr data-text="{at}"><th scope="row">{swatch} {escape(text.label)}</th>{shown}'
        f'<td class="number attention">{percent(text.share)}</td>'
        f'<td class="number left-out">{signed(text.nats)}</td>'
        f'<td class="meter" aria-hidden="true"><span></span></td><td class="number now">–</td></tr>'
    )


def legend(explained: Explained, voices: Sequence[str]) -> Iterator[str]:
    """Each voice, its colour and its share."""
    for name in voices:
        told = "the reply so far" if name == REPLY else name
        marks = (explained.marks or {}).get(name, 0.0)
        more = f" ({percent(marks)} on marks and separators)" if marks else ""
        swatch = f'<span class="swatch" style="background: var(--voice-{colour(name, voices)})"></span>'
        yield f"<li>{swatch} {escape(told)}: {percent((explained.shares or {})[name])}{escape(more)}</li>"


def notes(explained: Explained) -> Iterator[str]:
    """How to read the page."""
    yield f"<strong>Attention</strong>: {escape(VIEWS[explained.view])}. The mean over the reply's tokens."
    yield (
        "<strong>Leave-one-out</strong>: what the log-probability of the same reply loses, in nats, when one text is "
        "left out and all else is read again. Above 0 the text made the reply likelier; below 0 it stood in its way."
    )
    if explained.prompted:
        told = escape(" and ".join(explained.prompted))
        yield f"The decoder also reads {told} in its prompt: attention does not show that, leave-one-out does."
    yield (
        "<strong>Attention is not causation</strong>: it says where the model looked, not what made it say a word. "
        "Leaving a text out is an intervention, though of one text at a time: two that say the same hide each other."
    )


def numbers(explained: Explained) -> str:
    """Every word with every text, in both views."""
    head = "".join(f'<th scope="col">{escape(text.label)}</th>' for text in explained.texts)
    body = []
    for word in explained.words:
        pairs = zip(word.texts, word.nats, strict=True)
        cells = "".join(f"<td>{percent(share)}<br>{signed(nats)}</td>" for share, nats in pairs)
        body.append(f'<tr><th scope="row">{escape(word.text)}</th>{cells}</tr>')
    return f'<thead><tr><th scope="col">word</th>{head}</tr></thead><tbody>{"".join(body)}</tbody>'


def percent(share: float | None) -> str:
    """A share; a dash for none."""
    return "–" if share is None else f"{share:.1%}"


def signed(nats: float | None) -> str:
    """Nats with their sign; a dash for none."""
    return "–" if nats is None else f"{nats:+.3f}".replace("-", "\N{MINUS SIGN}")
