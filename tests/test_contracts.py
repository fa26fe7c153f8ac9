"""The contract type on imports, on a graph built by hand."""

import grimp
import pytest
from importlinter.domain.contract import InvalidContractOptions

from tools.contracts import DirectImports


@pytest.fixture
def graph() -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    for module in ("p", "p.fusion", "p.fusion.a", "p.fusion.base", "p.text", "p.fusional"):
        graph.add_module(module)
    for module in ("torch", "functools", "scipy"):
        graph.add_module(module, is_squashed=True)
    return graph


def broken(graph: grimp.ImportGraph, **options: object) -> list[str]:
    contract = DirectImports("imports", {}, {"source": "p.fusion", **options})
    return contract.check(graph, verbose=False).metadata["broken"]


ALLOWED = ["torch", "p.fusion.base"]


@pytest.mark.parametrize("imported", ["torch", "functools", "p.fusion.base"])
def test_allowed_and_standard_library_pass(graph, imported):
    graph.add_import(importer="p.fusion.a", imported=imported)
    assert broken(graph, allowed=ALLOWED) == []


@pytest.mark.parametrize("imported", ["scipy", "p.text", "p.fusional", "p.fusion"])
def test_everything_else_breaks_it(graph, imported):
    graph.add_import(importer="p.fusion.a", imported=imported)
    assert broken(graph, allowed=ALLOWED) == [f"p.fusion.a -> {imported}"]


def test_forbidden_covers_descendants_and_direct_imports_only(graph):
    graph.add_import(importer="p.fusion.a", imported="p.text")
    graph.add_import(importer="p.text", imported="scipy")
    assert broken(graph, forbidden=["scipy"]) == []
    assert broken(graph, forbidden=["p.text"]) == ["p.fusion.a -> p.text"]


def test_a_source_that_does_not_exist_yet_keeps_it(graph):
    assert broken(graph, source="p.serve", forbidden=["p.text"]) == []


def test_a_source_must_be_named(graph):
    with pytest.raises(InvalidContractOptions):
        DirectImports("imports", {}, {"allowed": ALLOWED})
