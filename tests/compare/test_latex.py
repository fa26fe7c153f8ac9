"""LaTeX that compiles: checked by its syntax, for there is no TeX here."""

import re

import pytest

from personae.compare import make_comparison
from personae.compare.grids import Grid
from personae.compare.latex import escaped, latex, latex_cell, latex_table
from personae.metrics import Metric
from tests.compare.made import made_plan, questions, replies


def environments(text: str) -> list[str]:
    """Environments in the order of their ends; one that is not closed, or in another one's place, fails."""
    open_, closed = [], []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", text):
        if kind == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
            closed.append(name)
    assert not open_
    return closed


def braces(text: str) -> int:
    """The depth at the end; it is never below 0."""
    depth = 0
    for token in re.findall(r"\\.|[{}]", text):
        depth += {"{": 1, "}": -1}.get(token, 0)
        assert depth >= 0
    return depth


@pytest.fixture
def text(tmp_path, monkeypatch) -> str:
    monkeypatch.setattr(Metric, "_classes", {name: Metric._classes[name] for name in ("f1", "nats_per_byte")})
    data = questions(tmp_path, name="unseen_values")
    said = {"paa": [replies(data, [True, False] * 3)], "cao-source-weight": [replies(data, [False] * 6, nats=3.0)]}
    return latex(make_comparison(made_plan(tmp_path, said, data), {"a_b seed 0": "no"}), ["f1", "nats_per_byte"])


def test_environments_braces_and_columns(text):
    assert environments(text) == ["tabular", "adjustbox", "table*"] * 3
    assert braces(text) == 0
    for table in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, re.S):
        columns, body = table
        lines = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(lines) >= 2
        assert all(len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1 for line in lines)
        assert [rule for rule in ("toprule", "midrule", "bottomrule") if f"\\{rule}" in body] != []


def test_nothing_is_left_that_latex_reads_otherwise(text):
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert not re.search(r"(?<!\\)[#%]", plain)
    assert plain.isascii()
    bare = re.sub(r"\$[^$]*\$", "", plain)
    assert not re.search(r"(?<!\\)[_^]", bare)
    assert r"unseen\_values" in plain
    assert r"$\uparrow$" in plain


def test_signatures_are_comments(text):
    assert re.search(r"^% f1\|n:12\|.*\|holm:1\|", text, re.M)


def test_escapes():
    assert escaped("50 % of a_b & {c} #1 $ ~ ^ \\") == (
        r"50 \% of a\_b \& \{c\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )
    assert escaped("± ↑ ↓ <") == r"$\pm$ $\uparrow$ $\downarrow$ $<$"


def test_cells():
    assert latex_cell("22.98 [22.6, 23.0] ± 0.12", True) == (r"\textbf{22.98} {\scriptsize [22.6, 23.0]} $\pm$ 0.12")
    assert latex_cell("-", False) == "-"


def test_a_cell_that_begins_with_a_bracket_is_no_argument_of_a_line_break():
    table = latex_table(Grid("t", ("", "a"), [("[x]", "1"), ("y", "2")]), "tab:a")
    assert "\\\\\n[" not in table
