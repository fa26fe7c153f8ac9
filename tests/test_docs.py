"""What the documentation shows as runnable does run: blocks marked ```python run, in order, file by file."""

import re
from pathlib import Path

import pytest

from personae.fusion import Fusion

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def runnable(page: Path) -> list[str]:
    """Return the runnable blocks of ``page``, each at its own line number."""
    text = page.read_text(encoding="utf-8")
    return ["\n" * (text[: match.start()].count("\n") + 1) + match[1] for match in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=lambda page: page.name)
def test_runnable_blocks_run(page, monkeypatch):
    monkeypatch.setattr(Fusion, "_classes", dict(Fusion._classes))
    names: dict[str, object] = {"__name__": "documentation"}
    for block in runnable(page):
        exec(compile(block, str(page), "exec"), names)


def test_the_tour_has_runnable_blocks():
    assert len(runnable(ROOT / "docs" / "tour.md")) >= 3


def test_the_example_fusion_is_short():
    (example,) = [block for block in runnable(ROOT / "docs" / "tour.md") if "@Fusion.register" in block]
    body = [line for line in example.split("\n") if line.strip()]
    assert len(body) <= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links {target}"
