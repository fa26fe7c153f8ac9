from pathlib import Path

import pytest

from tools import budgets


def write(root: Path, place: str, lines: int) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x = 1\n" * lines)


@pytest.mark.parametrize(
    ("place", "budget"),
    [
        ("src/personae/chat.py", 400),
        ("src/personae/fusion/paa.py", 60),
        ("src/personae/fusion/base.py", 400),
        ("src/personae/fusion/__init__.py", 400),
        ("tests/fusion/test_paa.py", 400),
        ("tests/test_chat.py", 400),
    ],
)
def test_a_file_may_have_its_budget_and_no_line_more(tmp_path, place, budget):
    write(tmp_path, place, budget)
    assert budgets.check(tmp_path) == []
    write(tmp_path, place, budget + 1)
    assert budgets.check(tmp_path) == [f"{place}: {budget + 1} lines, the budget is {budget}"]


@pytest.mark.parametrize("head", ["def long():", "async def long():", "class A:\n  def long(self):"])
def test_a_function_has_a_budget_too(tmp_path, head):
    path = tmp_path / "src" / "a.py"
    path.parent.mkdir()
    path.write_text(head + "\n    pass" * 39 + "\n")
    assert budgets.check(tmp_path) == []
    path.write_text(head + "\n    pass" * 40 + "\n")
    line = head.count("\n") + 1
    assert budgets.check(tmp_path) == [f"src/a.py:{line}: long has 41 lines, the budget is 40"]


def test_exit_status_and_one_line_for_each_offender(tmp_path, capsys):
    write(tmp_path, "src/a.py", 401)
    write(tmp_path, "tests/test_a.py", 500)
    assert budgets.main([str(tmp_path)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert budgets.main([str(tmp_path / "tests")]) == 0
