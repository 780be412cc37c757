"""What of a lab's checks goes into the sandbox: the probes, and all that these need, but no case and no verdict.

Works on source text alone: nothing is imported or run. What is needed is found by name. A name of the module that a
kept part mentions is needed, and so is a method or attribute of a check that a kept part mentions behind a dot. So code
that looks names up in strings (``globals()["x"]``) is not understood.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from pathlib import Path

from autograde.labs import LabError

PACKAGE = Path(__file__).resolve().parent
LEFT_OUT = frozenset({"cases", "schema", "verdict"})  # members of a check that stay on the grader's side
STARTS = frozenset({"todo", "points", "probe"})  # those that are asked of each check
ROOTS = ("CHECKS", "RANKS")  # names that a checks.py is asked for


def probe_only(source: str, name: str) -> str:
    """The text of a `checks.py` cut down to what its probes need; comments go too.

    name: what errors call it. Raises LabError where the text is not Python, or sets no CHECKS.
    """
    try:
        tree, table = ast.parse(source), symtable.symtable(source, name, "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise LabError(f"{name} does not load: {type(error).__name__}: {error}") from error
    kept = Kept(tree, table)
    if not kept.reach():
        raise LabError(f"{name} must end with CHECKS = [...], a list with one Check for each TODO")
    return ast.unparse(kept.module()) + "\n"


class Kept:
    """The parts of a module that are needed for its CHECKS.

    `names` and `attributes` hold what the kept parts mention, by itself and behind a dot.
    """

    def __init__(self, tree: ast.Module, table: symtable.SymbolTable) -> None:
        self.tree = tree
        self.tables = {(inner.get_name(), inner.get_lineno()): inner for inner in inside(table)}
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.checks = check_classes(self.classes, check_names(tree))
        self.names: set[str] = set(ROOTS)
        self.attributes: set[str] = set(STARTS)

    def reach(self) -> bool:
        """Follow what is mentioned until nothing is new. Returns whether there is a CHECKS at all."""
        before = None
        while before != (before := (len(self.names), len(self.attributes))):
            for node in self.nodes():
                self.names |= self.mentioned(node)
                self.attributes |= {leaf.attr for leaf in ast.walk(node) if isinstance(leaf, ast.Attribute)}
        return any("CHECKS" in bound(node) for node in self.tree.body)

    def mentioned(self, node: ast.AST) -> set[str]:
        """Names that a part of the module takes from it; of a function without those that are its own."""
        if isinstance(node, ast.ClassDef):
            parts = [*node.bases, *node.keywords, *node.decorator_list, *node.body]
            return set().union(*map(self.mentioned, parts))
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}
        tables = inside(self.tables[node.name, node.lineno])
        own = {symbol.get_name() for table in tables for symbol in table.get_symbols() if symbol.is_global()}
        around = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        return own.union(*map(self.mentioned, around))

    def nodes(self) -> Iterator[ast.AST]:
        """All statements to keep, of checks their heads and members one by one."""
        for node in self.statements():
            if isinstance(node, ast.ClassDef) and node.name in self.checks:
                yield from [*node.bases, *node.keywords, *node.decorator_list, *self.members(node)]
            else:
                yield node

    def statements(self) -> list[ast.stmt]:
        """The module's statements to keep."""
        return [node for node in self.tree.body if always(node) or bound(node) & self.names]

    def members(self, node: ast.ClassDef) -> list[ast.stmt]:
        """Those of a check to keep. The fields of a dataclass stay, as its constructor takes them."""
        return [member for member in node.body if self.needed(member, fields=bool(node.decorator_list))]

    def needed(self, member: ast.stmt, fields: bool) -> bool:
        """Whether a member of a check is needed."""
        own = bound(member)
        if own & LEFT_OUT:
            return False
        if isinstance(member, ast.AnnAssign) and fields:
            return True
        return bool(own & self.attributes) or any(name.startswith("__") for name in own)

    def module(self) -> ast.Module:
        """The module that is left."""
        body: list[ast.stmt] = []
        for node in self.statements():
            if isinstance(node, ast.ClassDef) and node.name in self.checks:
                node.body = self.members(node) or [ast.Pass()]
            elif isinstance(node, (ast.Import, ast.ImportFrom)) and not always(node):
                node.names = [alias for alias in node.names if alias.name == "*" or bound_by(alias) in self.names]
            body.append(node)
        return ast.Module(body, type_ignores=[])


def inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """A scope and those in it."""
    yield table
    for child in table.get_children():
        yield from inside(child)


def always(node: ast.stmt) -> bool:
    """Whether a statement of a module stays in any case: it changes how the others are compiled, or brings any name."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or any(alias.name == "*" for alias in node.names)
    return False


def bound(node: ast.stmt) -> set[str]:
    """Names that a statement binds or changes where it stands: of a call, what is called or the object it belongs to.

    Only names are read, so this may be more than is true, which costs nothing.
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
    """What ``a.b[c].d(e)`` begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Await)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def check_names(tree: ast.Module) -> set[str]:
    """What the module has from `autograde`: `Check`, or a module or another class that may stand for it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "autograde":
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {bound_by(alias) for alias in node.names if alias.name.partition(".")[0] == "autograde"}
    return found


def check_classes(classes: dict[str, ast.ClassDef], ours: set[str]) -> set[str]:
    """Names of the classes that come from a class of ours, and of the others that these come from."""
    found: set[str] = set()
    before = None
    while before != (before := len(found)):
        for name, node in classes.items():
            bases = {root.id for base in node.bases if isinstance(root := first(base), ast.Name)}
            if name in found or bases & (ours | found):
                found |= {name} | (bases & set(classes))
    return found


def modules_needed(source: str, *start: str) -> list[Path]:
    """Files of the package `autograde` that `source`, and the modules named in `start`, import, and what those import.

    start: e.g. "autograde.prober". In order of path; ``autograde/__init__.py`` is always there. Imports in functions
    count too. Raises LabError for a module of `start` that is not there, SyntaxError for a text that is not Python.
    """
    found = {PACKAGE / "__init__.py"}
    waiting = [path for module in imported(ast.parse(source), "") for path in files_of(module)]
    for module in start:
        if not (paths := files_of(module)):
            raise LabError(f"there is no module {module} in {PACKAGE.parent}")
        waiting += paths
    waiting += found
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            package = ".".join(path.relative_to(PACKAGE.parent).parent.parts)
            tree = ast.parse(path.read_text(encoding="utf-8"))
            waiting += [other for module in imported(tree, package) for other in files_of(module)]
    return sorted(seen)


def imported(tree: ast.Module, package: str) -> set[str]:
    """Dotted names that the module imports; of ``from a import b`` both ``a`` and ``a.b``, which may be a module.

    package: which the module is in, for relative imports.
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
    """The files that importing a module of `autograde` runs: its own and those of the packages it is in.

    Empty where there is no such module, or it is another package's.
    """
    package, *parts = module.split(".")
    if package != PACKAGE.name:
        return []
    place = PACKAGE.joinpath(*parts)
    own = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not own.is_file():
        return []
    packages = [PACKAGE.joinpath(*parts[:depth]) / "__init__.py" for depth in range(len(parts))]
    return [*(path for path in packages if path.is_file()), own]
