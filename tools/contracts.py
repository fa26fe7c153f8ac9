"""An import-linter contract about direct imports: what a package may import, or may not."""

import sys
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class DirectImports(Contract):
    """Direct imports of ``source`` and what lies in it.

    With ``allowed`` they go nowhere else but to the standard library; with ``forbidden`` they never go
    there. A ``source`` that does not exist (yet) keeps the contract.
    """

    type_name = "direct"

    source: Any = fields.StringField()
    allowed: Any = fields.ListField(subfield=fields.StringField(), required=False)
    forbidden: Any = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return the imports that break the contract, as ``importer -> imported``."""
        source: str = self.source
        broken = [
            f"{importer} -> {imported}"
            for importer in sorted(members(graph, source))
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not self.permits(imported)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one offending import a line."""
        for line in check.metadata["broken"]:
            output.print_error(line)
        output.new_line()

    def permits(self, imported: str) -> bool:
        """Whether ``imported`` may be imported."""
        if self.forbidden is not None:
            return not within(imported, self.forbidden)
        top = imported.partition(".")[0]
        return top in sys.stdlib_module_names or within(imported, self.allowed or [])


def members(graph: ImportGraph, package: str) -> set[str]:
    """Return ``package`` and its descendants, or nothing where it does not exist."""
    return {package} | graph.find_descendants(package) if package in graph.modules else set()


def within(module: str, packages: list[str]) -> bool:
    """Whether ``module`` is one of ``packages`` or lies in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)
