"""Which files of the package `autograde` some Python sources need, so that a sandbox shows these and no others.

This works on source text alone; nothing is imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from autograde.cells.parsing import parse

PACKAGE = Path(__file__).resolve().parents[1]


def modules_needed(sources: Iterable[str], *start: str) -> list[Path]:
    """Files of the package `autograde` that `sources` and the modules in `start` import, directly or indirectly.

    start: e.g. "autograde.sandbox.prober". The files are in order of path, and always include
    ``autograde/__init__.py``. Imports inside functions count too. Raises ValueError for a module of `start` that does
    not exist, SyntaxError for a text that is not Python.
    """
    found = {PACKAGE / "__init__.py"}
    modules = {module for source in sources for module in imports_of(source, "")}
    waiting = [path for module in modules for path in files_of(module)]
    for module in start:
        if not (paths := files_of(module)):
            raise ValueError(f"there is no module {module} in {PACKAGE.parent}")
        waiting += paths
    waiting += found
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in done:
            done.add(path)
            package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
            text = path.read_text(encoding="utf-8")
            waiting += [other for module in imports_of(text, package) for other in files_of(module)]
    return sorted(done)


@lru_cache(512)  # each grading asks twice, of the same hundred files
def imports_of(text: str, package: str) -> frozenset[str]:
    """What `imported` finds in a module's text. Raises SyntaxError."""
    return frozenset(imported(parse(text), package))


def imported(tree: ast.Module, package: str) -> set[str]:
    """Dotted names that a module imports; for ``from a import b`` both ``a`` and ``a.b``, which may be a module.

    package: of the module, for relative imports.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*parts, *([node.module] if node.module else [])])
            found |= {origin} | {f"{origin}.{alias.name}" for alias in node.names}
    return found


def files_of(module: str) -> list[Path]:
    """The files that run when a module of `autograde` is imported: its own, and its packages' ``__init__.py``.

    Empty if there is no such module, or if it belongs to another package.
    """
    package, *parts = module.split(".")
    if package != PACKAGE.name:
        return []
    path = PACKAGE.joinpath(*parts)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return []
    packages = [PACKAGE.joinpath(*parts[:depth]) / "__init__.py" for depth in range(len(parts))]
    return [*(path for path in packages if path.is_file()), file]
