"""Cuts a lab's checks down to what goes into the sandbox: the probes and all that they need, but no case or verdict.

This works on source text alone; nothing is imported or run. What is needed is found by name: each name of a module that
a kept part mentions, here and in the module it is imported from, and each method or attribute of a check that a kept
part mentions after a dot. So names looked up as strings (``globals()["x"]``) are missed. Base classes from
`autograde.verdicts` are removed.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from autograde.contract.check import PROBE_SIDE
from autograde.contract.labs import LabError
from autograde.contract.parsing import parse

PACKAGE = Path(__file__).resolve().parents[1]
# Members of a check that only the grader needs, whatever a probe mentions: tensors have a `shape`, too.
LEFT_OUT = frozenset({"cases", "schema", "shape", "verdict", "judge", "empty", "unfinished"})
ROOTS = ("CHECK", "RANKS")  # names that `autograde.contract.labs` reads from the modules
VERDICTS = "autograde.verdicts"


def probe_only(modules: Mapping[str, str], name: str) -> dict[str, str]:
    """The source texts of a lab's checks, cut down to what its probes need, without comments and empty modules.

    modules: by file name, from `read_package`. name: of the lab, for errors. Raises LabError if a text is not Python,
    or none sets a CHECK.
    """
    kept: dict[str, Kept] = {}
    for file, source in modules.items():
        try:
            kept[file] = Kept(parse(source), symtable.symtable(source, file, "exec"))
        except (SyntaxError, ValueError, RecursionError) as error:
            raise LabError(f"{name}: checks/{file} does not load: {type(error).__name__}: {error}") from error
    find_checks(kept)
    attributes, before = set(PROBE_SIDE), None
    while before != (before := (len(attributes), sum(len(module.names) for module in kept.values()))):
        for module in kept.values():
            module.reach(attributes)
            for origin, wanted in module.from_siblings():
                if (file := f"{origin or '__init__'}.py") in kept:
                    kept[file].names |= wanted
            for sibling in module.sibling_modules(kept):
                kept[sibling].names |= attributes
    if not any("CHECK" in bound(node) for module in kept.values() for node in module.tree.body):
        raise LabError(f"{name}: no module in checks/ sets a CHECK; it needs one for each TODO, called as the TODO")
    cut = {
        file: ast.unparse(module.module(attributes)) + "\n"
        for file, module in kept.items()
        if not all(map(always, module.statements()))
    }
    return {"__init__.py": "", **cut}


def find_checks(modules: Mapping[str, Kept]) -> None:
    """Find the check classes in all modules: those derived from a class of the contract, through any module."""
    before = None
    while before != (before := sum(len(module.checks) for module in modules.values())):
        for module in modules.values():
            bases = names_from(module.tree, "autograde.contract")
            for origin, names in module.from_siblings(everything=True):
                if f"{origin}.py" in modules:
                    bases |= names & modules[f"{origin}.py"].checks
            module.checks = check_classes(module.classes, bases)


class Kept:
    """A module and what is kept of it. names: those of its names that the kept parts of all modules mention."""

    def __init__(self, tree: ast.Module, table: symtable.SymbolTable) -> None:
        self.tree = tree
        self.tables = {(inner.get_name(), inner.get_lineno()): inner for inner in inside(table)}
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.checks: set[str] = set()
        self.names: set[str] = set(ROOTS)
        self.verdicts = names_from(tree, VERDICTS)  # whose classes may be bases of a check

    def reach(self, attributes: set[str]) -> None:
        """Add what the kept parts mention: to `names`, and to `attributes` what follows a dot."""
        for node in self.nodes(attributes):
            self.names |= self.mentioned(node)
            attributes |= {leaf.attr for leaf in ast.walk(node) if isinstance(leaf, ast.Attribute)}

    def from_siblings(self, everything: bool = False) -> list[tuple[str, set[str]]]:
        """(module, names) for each relative import of this module: only names that are kept, or everything."""
        found = [node for node in self.tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
        wanted = lambda alias: everything or bound_by(alias) in self.names  # noqa: E731
        return [(node.module or "", {each.name for each in node.names if wanted(each)}) for node in found]

    def sibling_modules(self, modules: Mapping[str, Kept]) -> list[str]:
        """Files of the modules that this module imports whole: ``from . import x``."""
        names = set().union(*(names for origin, names in self.from_siblings() if not origin))
        return [f"{name}.py" for name in names if f"{name}.py" in modules]

    def mentioned(self, node: ast.AST) -> set[str]:
        """Names of the module that one of its parts mentions; a function's local names do not count."""
        if isinstance(node, ast.ClassDef):
            parts = [*self.bases(node), *node.keywords, *node.decorator_list, *node.body]
            return set().union(*map(self.mentioned, parts))
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}
        tables = inside(self.tables[node.name, node.lineno])
        used = {symbol.get_name() for table in tables for symbol in table.get_symbols() if symbol.is_global()}
        signature = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        return used.union(*map(self.mentioned, signature))

    def bases(self, node: ast.ClassDef) -> list[ast.expr]:
        """The bases of a class, without those from verdicts."""
        return [
            base for base in node.bases if not (isinstance(root := first(base), ast.Name) and root.id in self.verdicts)
        ]

    def nodes(self, attributes: set[str]) -> Iterator[ast.AST]:
        """All statements to keep; of a check, the parts of its head and the members to keep."""
        for node in self.statements():
            if isinstance(node, ast.ClassDef) and node.name in self.checks:
                yield from [*self.bases(node), *node.keywords, *node.decorator_list, *self.members(node, attributes)]
            else:
                yield node

    def statements(self) -> list[ast.stmt]:
        """The module's statements to keep."""
        return [node for node in self.tree.body if always(node) or bound(node) & self.names]

    def members(self, node: ast.ClassDef, attributes: set[str]) -> list[ast.stmt]:
        """The members of a check to keep. A dataclass keeps its fields, as its constructor takes them."""
        return [each for each in node.body if needed(each, attributes, fields=bool(node.decorator_list))]

    def module(self, attributes: set[str]) -> ast.Module:
        """What is kept, as a module."""
        body: list[ast.stmt] = []
        for node in self.statements():
            if isinstance(node, ast.ClassDef) and node.name in self.checks:
                node.bases, node.body = self.bases(node), self.members(node, attributes) or [ast.Pass()]
            elif isinstance(node, (ast.Import, ast.ImportFrom)) and not always(node):
                node.names = [alias for alias in node.names if alias.name == "*" or bound_by(alias) in self.names]
            body.append(node)
        return ast.Module(body, type_ignores=[])


def needed(member: ast.stmt, attributes: set[str], fields: bool) -> bool:
    """Whether a member of a check is needed. fields: whether annotated members are fields of a dataclass."""
    names = bound(member)
    if names & LEFT_OUT:
        return False
    if isinstance(member, ast.AnnAssign) and fields:
        return True
    return bool(names & attributes) or any(name.startswith("__") for name in names)


def inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and all scopes inside it."""
    yield table
    for child in table.get_children():
        yield from inside(child)


def always(node: ast.stmt) -> bool:
    """Whether a module always keeps a statement: an import from `__future__`, or one of any names (``*``)."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or any(alias.name == "*" for alias in node.names)
    return False


def bound(node: ast.stmt) -> set[str]:
    """Names that a statement binds or may change; for a call, the function or the object it belongs to.

    This may include names that it leaves alone, which does no harm.
    """
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {bound_by(alias) for alias in node.names}
    if isinstance(node, ast.Expr):
        return {root.id} if isinstance(root := first(node.value), ast.Name) else set()
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)):
        targets = [node.target] if hasattr(node, "target") else node.targets
        roots = [first(leaf) for target in targets for leaf in spread(target)]
        return {root.id for root in roots if isinstance(root, ast.Name)}
    within = (child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node)
    stored = {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)}
    return stored.union(*map(bound, within))


def bound_by(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def spread(target: ast.expr) -> list[ast.expr]:
    """The single targets in ``a, (b, *c)``."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [leaf for part in target.elts for leaf in spread(part)]
    return spread(target.value) if isinstance(target, ast.Starred) else [target]


def first(node: ast.expr) -> ast.expr:
    """The expression that another begins with: ``a`` of ``a.b[c].d(e)``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Await)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def names_from(tree: ast.Module, package: str) -> set[str]:
    """Names that a module imports from a package of ours or its modules, and names of these modules."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            found |= {
                alias.asname or alias.name
                for alias in node.names
                if f"{origin}.".startswith(f"{package}.") or f"{origin}.{alias.name}." == f"{package}."
            }
        elif isinstance(node, ast.Import):
            found |= {bound_by(alias) for alias in node.names if f"{alias.name}.".startswith(f"{package}.")}
    return found


def check_classes(classes: dict[str, ast.ClassDef], known: set[str]) -> set[str]:
    """Names of the classes derived from a known check class, and of their other base classes."""
    found: set[str] = set()
    before = None
    while before != (before := len(found)):
        for name, node in classes.items():
            bases = {root.id for base in node.bases if isinstance(root := first(base), ast.Name)}
            if name in found or bases & (known | found):
                found |= {name} | (bases & set(classes))
    return found


def modules_needed(sources: Iterable[str], *start: str) -> list[Path]:
    """Files of the package `autograde` that `sources` and the modules in `start` import, directly or indirectly.

    start: e.g. "autograde.sandbox.prober". The files are in order of path, and always include
    ``autograde/__init__.py``. Imports inside functions count too. Raises LabError for a module of `start` that does not
    exist, SyntaxError for a text that is not Python.
    """
    found = {PACKAGE / "__init__.py"}
    modules = {module for source in sources for module in imported(parse(source), "")}
    waiting = [path for module in modules for path in files_of(module)]
    for module in start:
        if not (paths := files_of(module)):
            raise LabError(f"there is no module {module} in {PACKAGE.parent}")
        waiting += paths
    waiting += found
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in done:
            done.add(path)
            package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
            tree = parse(path.read_text(encoding="utf-8"))
            waiting += [other for module in imported(tree, package) for other in files_of(module)]
    return sorted(done)


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
