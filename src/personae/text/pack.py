"""Packer: a Dialogue becomes token ids, each source within its own budget and nothing cut silently."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from transformers import PreTrainedTokenizerFast

from personae.errors import UserError, nearest
from personae.text.dialogue import PARTNER, SELF, Dialogue
from personae.text.tokenizer import PARTNER_MARK, PERSONA_MARK, SELF_MARK, SEPARATOR, SPECIAL_TOKENS

REPLY = "reply"
REMEMBERED = 500_000
ROLE_MARKS = {PARTNER: PARTNER_MARK, SELF: SELF_MARK}
SOURCE_MARKS = {"persona": PERSONA_MARK}

# What a token's type says (Wolf et al. 2019): nothing, its source and speaker, or its speaker only.
TYPES = NO_TYPES, BY_SOURCE, BY_SPEAKER = "none", "sources", "speakers"
JOINT = "+"

# Marks and words of one text.
Part = tuple[list[int], list[int]]
# Ids, positions of texts and types of one row.
Row = tuple[list[int], list[int], list[int]]
# Which source how many tokens in a row come from, in order.
Spans = tuple[tuple[str, int], ...]
# Source and position of the text that a token comes from (-1: a mark).
Origin = tuple[str, int]


def parts_of(name: str) -> list[str]:
    """The sources that one input of the model reads: ``persona+context`` is one row with both."""
    return name.split(JOINT)


def last(spans: Spans, length: int) -> Spans:
    """What the last ``length`` tokens of a row come from."""
    over, kept = sum(size for _, size in spans) - length, []
    for name, size in spans:
        lost = min(over, size)
        over -= lost
        kept.append((name, size - lost))
    return tuple(kept)


@dataclass(frozen=True)
class Packed:
    """Token ids of one dialogue.

    ``sources``: ids per source; ``items``: per source and token, the position of the text it comes from in
    ``Dialogue.sources`` (-1 for marks and separators); ``prompt``: what the decoder reads before the reply,
    begin token last; ``reply``: the reply with its end token. Where tokens have types, ``types`` holds them per
    source and ``prompt_types`` for the prompt, whose last is the reply's too. For a model that ranks replies,
    ``candidates`` holds several with their end tokens, of which the one at ``gold`` is the right one.
    ``prompt_items`` are the prompt's items; ``spans`` and ``prompt_spans`` say which source how many tokens come from.
    """

    sources: Mapping[str, list[int]]
    items: Mapping[str, list[int]]
    prompt: list[int]
    reply: list[int]
    types: Mapping[str, list[int]] | None = None
    prompt_types: list[int] | None = None
    candidates: list[list[int]] | None = None
    gold: int = 0
    prompt_items: list[int] = field(default_factory=list)
    spans: Mapping[str, Spans] = field(default_factory=dict)
    prompt_spans: Spans = ()

    @property
    def length(self) -> int:
        """Tokens that the whole example costs, for length buckets."""
        return sum(map(len, self.sources.values())) + len(self.prompt) + len(self.reply)

    def origins(self, name: str) -> list[Origin]:
        """Per token of source ``name`` the text that it comes from; one input may hold several sources."""
        return origins(self.spans[name], self.items[name])

    @property
    def prompt_origins(self) -> list[Origin]:
        """Per token of the prompt the text that it comes from; the begin token is a mark of the reply."""
        return origins(self.prompt_spans, self.prompt_items)


def origins(spans: Spans, items: Sequence[int]) -> list[Origin]:
    """Sources and positions of tokens."""
    names = (name for name, length in spans for _ in range(length))
    return list(zip(names, items, strict=True))


@dataclass
class Cuts:
    """What did not fit, over all dialogues packed so far."""

    dialogues: int = 0
    texts: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)

    def note(self, source: str, texts: int, tokens: int) -> None:
        """Count ``texts`` whole texts left out and ``tokens`` tokens lost in one dialogue."""
        self.texts[source] = self.texts.get(source, 0) + texts
        self.tokens[source] = self.tokens.get(source, 0) + tokens

    def as_dict(self) -> dict[str, object]:
        """For the run's report."""
        return {"dialogues": self.dialogues, "texts_cut": dict(self.texts), "tokens_cut": dict(self.tokens)}


class Packer:
    """Turns dialogues into ids.

    ``budgets`` holds the most tokens per source and for ``reply``. Where a source with speakers (a context)
    does not fit, the oldest turns go first, counted from the current turn; where one without speakers (a
    persona) does not fit, the last texts go. A single text longer than its budget loses the tokens farthest
    from the reply. Every cut is counted in ``cuts``; replies are never cut. A source ``a+b`` is one row that
    holds both, each within its own budget.

    ``types``: what a token's type is, one of ``TYPES``; ``marks`` False: texts stand without marks, so that only
    types tell who spoke; ``turns``: of a source with speakers only so many, the newest, are read (not a cut).
    ``window``: of an input that holds several sources, a joint one or the prompt, only so many tokens are read, the
    last ones, so that a long context pushes out what stands before it, as in a model with one input.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        sources: Sequence[str],
        prompt: Sequence[str],
        budgets: Mapping[str, int],
        types: str = NO_TYPES,
        marks: bool = True,
        turns: int | None = None,
        window: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.sources, self.prompt = tuple(sources), tuple(prompt)
        self.budgets = dict(budgets)
        self.types, self.marks, self.turns, self.window = types, marks, turns, window
        self.cuts = Cuts()
        vocabulary = tokenizer.get_vocab()
        self._mark = {token: vocabulary[token] for token in SPECIAL_TOKENS}
        # A copy of our own that reads "[EOS]" or "Q:" in a text as plain words: a text cannot forge a mark.
        self._words = copy.deepcopy(tokenizer.backend_tokenizer)
        self._words.encode_special_tokens = True
        self._encoded: dict[str, list[int]] = {}
        self._check()

    def _check(self) -> None:
        needed = {*self.needed, REPLY}
        if self.types not in TYPES:
            raise UserError(f"text.types='{self.types}'.{nearest(self.types, TYPES)} Choose one of: {', '.join(TYPES)}")
        for name in sorted(needed - self.budgets.keys()):
            raise UserError(f"text.budgets lacks '{name}': say how many tokens it may have")
        for name in sorted(self.budgets.keys() - needed):
            raise UserError(f"text.budgets names '{name}', which is no source of the model.{nearest(name, needed)}")
        shared = len(self.prompt) > 1 or any(JOINT in name for name in self.sources)
        if self.window is not None and (self.window < 2 or not shared):
            raise UserError(f"text.window={self.window}: give 2 or more, and an input that holds several sources")
        for name, budget in self.budgets.items():
            if budget < 2:
                raise UserError(f"text.budgets.{name}={budget} leaves no room: give at least 2 tokens")

    def __call__(self, dialogue: Dialogue) -> Packed:
        """Pack one dialogue with its gold reply. Raises ``UserError`` for a reply over its budget."""
        packed = self.pack_sources(dialogue)
        reply = [*self.encode(dialogue.response), int(self.tokenizer.eos_token_id)]
        if len(reply) > self.budgets[REPLY]:
            raise UserError(
                f"{dialogue.conversation or 'a dialogue'}: the reply '{dialogue.response[:40]}' has {len(reply)} "
                f"tokens, the window {self.budgets[REPLY]}: raise text.budgets.reply or set text.long_replies=skip"
            )
        return replace(packed, reply=reply)

    def pack_sources(self, dialogue: Dialogue) -> Packed:
        """Pack what the reply may rest on; ``reply`` stays empty."""
        rows = {name: self.pack_source(name, dialogue) for name in self.needed}
        self.cuts.dialogues += 1
        joined = {name: self._join(name, rows) for name in {*self.sources, *self.prompt}}
        packed = {name: row for name, (row, _) in joined.items()}
        spans = {name: each for name, (_, each) in joined.items()}
        shown = self._within(self.prompt, [packed[name] for name in self.prompt])
        prompt, items, types = ([each for row in shown for each in row[at]] for at in range(3))
        seen = [last(spans[name], len(row[0])) for name, row in zip(self.prompt, shown, strict=True)]
        typed = self.types != NO_TYPES
        return Packed(
            sources={name: packed[name][0] for name in self.sources},
            items={name: packed[name][1] for name in self.sources},
            prompt=[*prompt, int(self.tokenizer.bos_token_id)],
            reply=[],
            types={name: packed[name][2] for name in self.sources} if typed else None,
            prompt_types=[*types, self.reply_type] if typed else None,
            prompt_items=[*items, -1],
            spans={name: spans[name] for name in self.sources},
            prompt_spans=(*(each for one in seen for each in one), (REPLY, 1)),
        )

    @property
    def needed(self) -> set[str]:
        """The sources that a dialogue must have."""
        return {part for name in (*self.sources, *self.prompt) for part in parts_of(name)}

    @property
    def reply_type(self) -> int:
        """The type of the reply's tokens."""
        return int(self.tokenizer.bos_token_id) if self.types == BY_SOURCE else self._mark[SELF_MARK]

    def pack_source(self, name: str, dialogue: Dialogue) -> Row:
        """Return the ids of source ``name``, per token the position of its text (-1: a mark), and its type."""
        texts, roles = dialogue.sources.get(name, ()), dialogue.roles.get(name)
        first = max(0, len(texts) - self.turns) if roles and self.turns else 0
        # Without marks a row of blank turns would be empty.
        if not any(text.strip() for text in (texts if self.marks else texts[first:])):
            has = ", ".join(key for key, value in dialogue.sources.items() if any(map(str.strip, value))) or "none"
            raise UserError(
                f"{dialogue.conversation or 'the dialogue'} has no '{name}' (sources with text: {has}): "
                f"give at least one sentence, or use a recipe without that source"
            )
        said = range(first, len(texts))
        parts = [self._part(name, texts[at], roles[at] if roles else None) for at in said]
        types = [self._type(name, roles[at] if roles else None) for at in said]
        return self._fit(name, parts, types, first, newest_first=roles is not None)

    def _join(self, name: str, rows: Mapping[str, Row]) -> tuple[Row, Spans]:
        """The row of one input, and what it puts together.

        A separator stands between the sources of a joint one; it belongs to the source behind it.
        """
        names, between = parts_of(name), [self._mark[SEPARATOR]] if self.marks else []
        first, *rest = self._within(names, [rows[part] for part in names], len(between))
        ids, items, types = (list(each) for each in first)
        spans = [(names[0], len(ids))]
        for part, row in zip(names[1:], rest, strict=True):
            ids += between + row[0]
            items += [-1] * len(between) + row[1]
            types += rows[part][2][:1] * len(between) + row[2]
            spans.append((part, len(between) + len(row[0])))
        return (ids, items, types), tuple(spans)

    def _within(self, names: Sequence[str], rows: list[Row], between: int = 0) -> list[Row]:
        """The rows of one input, ``between`` tokens apart, without the first tokens where they are over the window."""
        if self.window is None or len(rows) < 2:
            return rows
        over = sum(len(row[0]) + between for row in rows) - between - self.window
        kept: list[Row] = []
        for name, (ids, items, types) in zip(names, rows, strict=True):
            lost = min(max(0, over), len(ids))
            over -= lost
            if lost:
                self.cuts.note(name, len({*items[:lost]} - {*items[lost:], -1}), lost)
            kept.append((ids[lost:], items[lost:], types[lost:]))
        return kept

    def encode(self, text: str) -> list[int]:
        """Ids of ``text`` as words within a line: a word is the same token wherever it stands."""
        if text not in self._encoded:
            if len(self._encoded) >= REMEMBERED:  # a service that never stops must not fill the memory
                self._encoded.clear()
            words = text.strip()
            self._encoded[text] = self._words.encode(f" {words}", add_special_tokens=False).ids if words else []
        return self._encoded[text]

    def _part(self, name: str, text: str, role: str | None) -> Part:
        """Marks and words of one text; a source without speakers is marked once, at its head."""
        if not self.marks:
            return [], self.encode(text)
        if role is not None:
            return [self._mark[ROLE_MARKS[role]]], self.encode(text)
        return ([] if name in SOURCE_MARKS else [self._mark[SEPARATOR]]), self.encode(text)

    def _type(self, name: str, role: str | None) -> int:
        """The type of a text's tokens: its speaker's mark, else its source's; a persona's speaker is oneself."""
        own = SOURCE_MARKS.get(name, SEPARATOR)
        if role is None and self.types == BY_SPEAKER and own == PERSONA_MARK:
            return self._mark[SELF_MARK]
        return self._mark[own if role is None else ROLE_MARKS[role]]

    def _fit(self, name: str, parts: Sequence[Part], types: Sequence[int], first: int, newest_first: bool) -> Row:
        head = [self._mark[SOURCE_MARKS[name]]] if name in SOURCE_MARKS and self.marks else []
        room = full = self.budgets[name] - len(head)
        order = range(len(parts) - 1, -1, -1) if newest_first else range(len(parts))
        kept: dict[int, Part] = {}
        for at in order:
            marks, words = parts[at]
            cost = len(marks) + len(words)
            if cost > room and room < full:
                break
            kept[at] = (marks, words if cost <= room else _shorten(words, room - len(marks), newest_first))
            room -= min(cost, room)
        self._count(name, parts, kept)
        ids, items, kinds = list(head), [-1] * len(head), list(types[:1]) * len(head)
        for at in sorted(kept):
            marks, words = kept[at]
            ids += marks + words
            items += [-1] * len(marks) + [first + at] * len(words)
            kinds += [types[at]] * (len(marks) + len(words))
        return ids, items, kinds

    def _count(self, name: str, parts: Sequence[Part], kept: Mapping[int, Part]) -> None:
        lost = sum(len(words) for at, (_, words) in enumerate(parts) if at not in kept)
        shortened = sum(len(parts[at][1]) - len(value[1]) for at, value in kept.items())
        if lost or shortened or len(kept) < len(parts):
            self.cuts.note(name, len(parts) - len(kept), lost + shortened)


def _shorten(words: list[int], room: int, keep_end: bool) -> list[int]:
    return words[max(0, len(words) - room) :] if keep_end else words[:room]
