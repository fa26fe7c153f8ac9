"""Length budgets: a file or a function that outgrows its budget is split, not excused.

Usage: python -m tools.budgets [ROOT]. Prints one offender a line and exits with 1 if there are any.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 400
FUSION_LINES = 60
FUNCTION_LINES = 40
FUSION_FREE = ("__init__.py", "base.py")
FOLDERS = ("src", "tests", "tools", "benchmarks")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def file_budget(path: Path) -> int:
    """Return how many lines ``path`` may have."""
    is_fusion = path.parent.name == "fusion" and "tests" not in path.parts and path.name not in FUSION_FREE
    return FUSION_LINES if is_fusion else FILE_LINES


def long_functions(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield line, name and length of every function over the budget."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield node.lineno, node.name, length


def offences(path: Path, root: Path) -> Iterator[str]:
    """Yield what is too long in ``path``, which lies under ``root``."""
    text, place = path.read_text(encoding="utf-8"), path.relative_to(root)
    lines = len(text.splitlines())
    if lines > file_budget(place):
        yield f"{place}: {lines} lines, the budget is {file_budget(place)}"
    for line, name, length in long_functions(text):
        yield f"{place}:{line}: {name} has {length} lines, the budget is {FUNCTION_LINES}"


def check(root: Path) -> list[str]:
    """Return every offence under ``root``, files in order."""
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    return [offence for path in files for offence in offences(path, root)]


def main(arguments: list[str]) -> int:
    """Print the offences under the folder named, or the working folder; return the exit status."""
    found = check(Path(arguments[0]) if arguments else Path.cwd())
    print("\n".join(found) if found else "length budgets: kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
