"""A comparison as LaTeX: booktabs tables with captions, for a paper to \\input."""

from collections.abc import Sequence

from personae.compare.comparison import Comparison
from personae.compare.grids import Grid, grids
from personae.compare.text import footnotes, signatures

HEAD = "% \\usepackage{booktabs} and \\usepackage{adjustbox}, which makes a wide table fit"
# Everything that means something to LaTeX, and what tables have beyond ASCII.
ESCAPED = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
        **{"<": "$<$", ">": "$>$", "|": "$|$", "±": "$\\pm$", "↑": "$\\uparrow$", "↓": "$\\downarrow$"},
    }
)


def latex(comparison: Comparison, metrics: Sequence[str]) -> str:
    """The content of ``table.tex``: a table for each grid; notes in captions, signatures as comments."""
    notes = footnotes(comparison, metrics)
    parts = [latex_table(grid, f"tab:compare-{number}") for number, grid in enumerate(grids(comparison, metrics), 1)]
    said = [f"% {' '.join(line.split())}" for line in signatures(comparison, metrics)]
    failed = [f"{label} failed" for label in comparison.failed]
    text = "\n\n".join(escaped(f"{note[:1].upper()}{note[1:]}.") for note in [*notes, *failed])
    return "\n\n".join([HEAD, *parts, text, "\n".join(said)]) + "\n"


def latex_table(grid: Grid, label: str) -> str:
    """One floating table over the whole width."""
    head = " & ".join(escaped(column) for column in grid.columns)
    rows = [
        " & ".join(latex_cell(cell, (at, column) in grid.best) for column, cell in enumerate(row)) + " \\\\"
        for at, row in enumerate(grid.rows)
    ]
    lines = [
        *("\\begin{table*}[t]", "\\centering", f"\\caption{{{escaped(grid.title)}.}}", f"\\label{{{label}}}"),
        "\\begin{adjustbox}{max width=\\linewidth}",
        f"\\begin{{tabular}}{{{'l' * grid.keys}{'r' * (len(grid.columns) - grid.keys)}}}",
        *("\\toprule", f"{head} \\\\", "\\midrule", *rows, "\\bottomrule"),
        *("\\end{tabular}", "\\end{adjustbox}", "\\end{table*}"),
    ]
    return "\n".join(lines)


def latex_cell(cell: str, best: bool) -> str:
    """A cell, the interval in smaller type."""
    value, opening, rest = cell.partition(" [")
    interval, closing, more = rest.partition("]")
    text = f"\\textbf{{{escaped(value)}}}" if best else escaped(value)
    small = f" {{\\scriptsize [{escaped(interval)}]}}" if opening and closing else ""
    return f"{text}{small}{escaped(more if small else '')}"


def escaped(text: str) -> str:
    """``text`` so that LaTeX prints it; what is beyond ASCII otherwise, a name of a recipe's file, stays UTF-8."""
    return text.translate(ESCAPED)
