"""Scores as tables, for every command that prints some; published numbers in a block of their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from personae.cli import show

if TYPE_CHECKING:
    from personae.evaluation.scores import Scores
    from personae.metrics import Score
    from personae.scoring.published import Table

# Tables of what belongs together; a metric named nowhere here stands in the last one.
TABLES = {
    "perplexity of the gold replies": ("perplexity_token", "perplexity_word", "convai2_perplexity"),
    "nats of the gold replies": ("nats_per_token", "nats_per_word", "nats_per_byte"),
    "right answers, share": ("persona_accuracy", "context_accuracy", "both_accuracy"),
    "words shared with the gold replies, %": ("f1", "bleu", "bleu_p1", "bleu_p2", "exact_match"),
    "token ids of the argmax under the gold reply, %": ("paa_teacher_forced_macro_f1",),
    "n-grams shared, as caption tools score, 0 to 1": ("coco_bleu1", "coco_bleu2", "coco_bleu3", "coco_bleu4"),
    "alignment with the gold replies, 0 to 1": ("rouge_l", "meteor_exact_stem", "meteor"),
    "n-grams shared, weighed by rarity": ("cider", "nist4"),
    "mean sentence BLEU of ParlAI, 0 to 1": ("parlai_bleu1", "parlai_bleu2", "parlai_bleu3", "parlai_bleu4"),
    "mean sentence BLEU of DialogVED, 1.33 is perfect": ("bleu_nltk35_method7_1", "bleu_nltk35_method7_2"),
    "nearness in word vectors, %": ("embedding_average", "embedding_greedy", "embedding_extrema"),
    "rank of the gold reply among the candidates, %": ("hits1", "hits5", "hits10", "mrr"),
    "agreement with the persona, sum over its sentences": ("c_score",),
    "variety of words, %": ("dist1", "dist2", "dist3"),
    "variety as single papers count it, %": (
        *("paa_dist1", "paa_dist2", "adand_dist1", "adand_dist2", "adand_dist3", "cao_dist2"),
    ),
    "known evidence found, share": ("evidence_accuracy_attention", "evidence_accuracy_leave_one_out"),
    "attention beside leaving out": ("evidence_agreement", "evidence_correlation"),
    "entropy in nats, length in words": ("entropy4", "length", "cao_length"),
}

Published = Annotated[
    str | None,
    typer.Option(
        metavar="DATASET",
        help="Also print what papers report on DATASET, in a block of its own: see `personae list published`.",
        show_default=False,
    ),
]


def print_scores(rows: "Mapping[str, Scores]") -> None:
    """Print ``rows`` in one table for each kind of metric."""
    measured = dict.fromkeys(name for scores in rows.values() for name in scores)
    placed = {name for names in TABLES.values() for name in names}
    tables = {**TABLES, "further metrics": tuple(name for name in measured if name not in placed)}
    for title, names in tables.items():
        print_group(title, names, rows)


def print_group(title: str, names: Sequence[str], rows: "Mapping[str, Scores]") -> None:
    """Print those of the metrics ``names`` that were measured; a row without any is left out."""
    columns = [name for name in names if any(name in scores for scores in rows.values())]
    having = {row: scores for row, scores in rows.items() if any(name in scores for name in columns)}
    if having:
        cells = [(row, *(cell(scores.get(name)) for name in columns)) for row, scores in having.items()]
        show.print_table(title, ("", *columns), cells)


def cell(score: "Score | None") -> str:
    """One score as text, four digits and bounds with one less: 22.98 [22.6–23.4]."""
    if score is None:
        return "-"
    whole = len(str(int(abs(score.value)))) if abs(score.value) >= 1 else 0
    decimals = max(0, 4 - whole)
    value = f"{score.value:,.{decimals}f}"
    if score.interval is None:
        return value
    low, high = (f"{bound:,.{max(0, decimals - 1)}f}" for bound in score.interval)
    return f"{value} [{low}–{high}]"


def print_signatures(scores: "Scores") -> None:
    """Print the signatures of one row, dimmed."""
    from rich.text import Text

    for score in scores.values():
        show.console().print(Text(score.signature, style="dim"))


def read_published(dataset: str | None) -> "list[Table]":
    """The published tables on ``dataset``, none where it is None; an unknown one is a ``UserError``."""
    if dataset is None:
        return []
    from personae.scoring.published import published

    return published(dataset)


def with_published(content: dict[str, Any], tables: "Sequence[Table]") -> dict[str, Any]:
    """``content`` for JSON, with published numbers under a key of their own where there are any."""
    if not tables:
        return content
    return {**content, "published": [record for table in tables for record in table.as_dict()]}


def print_published(tables: "Sequence[Table]") -> None:
    """Print published numbers as the papers have them, and what each of them measures."""
    if not tables:
        return
    print(f"\nPUBLISHED NUMBERS on {tables[0].dataset}, copied from the papers; none of them was measured here.\n")
    for table in tables:
        cells = [[row, *(as_printed(values.get(name)) for name in table.columns)] for row, values in table.rows.items()]
        show.print_table(f"published, not measured: {table.key}, {table.table}", ("", *table.columns), cells)
    for line in meanings(tables):
        print(line)


def as_printed(value: float | None) -> str:
    """A published value with all its digits."""
    return "-" if value is None else str(value)


def meanings(tables: "Iterable[Table]") -> list[str]:
    """One line for each paper and for each of its metrics: which of ours measures the same, or how it differs."""
    lines: dict[str, None] = {}
    for table in tables:
        lines[f"{table.key}: {table.paper}"] = None
        for name in table.columns:
            meaning = table.metrics[name]
            ours = f"the same as {meaning.ours} here" if meaning.ours else f"not comparable here: {meaning.differs}"
            lines[f"{table.key} {name}: {ours}"] = None
    return list(lines)
