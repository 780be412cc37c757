"""Rewritings of names and statements: the same steps, as somebody else would have typed them.

Each takes the syntax tree of an answer's cell, which it may change, and the name of its TODO, and returns the tree.
"""

from __future__ import annotations

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda)


def arguments_of(function: ast.AST) -> list[ast.arg]:
    """All parameters of a function, ``*args`` and ``**kwargs`` among them."""
    given = function.args
    return [
        *given.posonlyargs,
        *given.args,
        *given.kwonlyargs,
        *(each for each in (given.vararg, given.kwarg) if each is not None),
    ]


def locals_of(function: ast.AST) -> set[str]:
    """Names that a function and those inside it assign, and that can be called otherwise: no parameters, no names of
    functions, classes, modules or exceptions, none that are declared global."""
    stored: set[str] = set()
    kept: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.add(node.id)
        elif isinstance(node, SCOPES):
            kept |= {each.arg for each in arguments_of(node)} | {getattr(node, "name", "")}
        elif isinstance(node, ast.ClassDef):
            kept |= {node.name} | {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.Global):
            kept |= {*node.names}
        elif isinstance(node, ast.alias):
            kept.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            kept.add(node.name)
    return stored - kept


def outermost(tree: ast.AST) -> list[ast.AST]:
    """The functions and methods of a cell that are in no other function."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FUNCTIONS):
            found.append(node)
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def other_names(tree: ast.Module, todo: str) -> ast.Module:
    """All local variables have other names."""
    for function in outermost(tree):
        renamed = locals_of(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in renamed:
                node.id = f"my_{node.id}"
            elif isinstance(node, ast.Nonlocal):
                node.names = [f"my_{name}" if name in renamed else name for name in node.names]
    return tree


class InFunctions(ast.NodeTransformer):
    """Changes what stands in functions; bodies of classes and of the module stay."""

    def __init__(self) -> None:
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Go into a function."""
        self.depth += 1
        node.body = [new for line in node.body for new in self.lines(line)]
        self.depth -= 1
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Go through a class, whose own lines are in no function."""
        depth, self.depth = self.depth, 0
        self.generic_visit(node)
        self.depth = depth
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Leave lambdas alone."""
        return node

    def lines(self, line: ast.stmt) -> list[ast.stmt]:
        """What becomes of a line."""
        new = self.visit(line)
        return new if isinstance(new, list) else [new]


class Walrus(InFunctions):
    """``x = e`` is ``(x := e)``."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """An assignment of one name, in a function."""
        target = node.targets[0]
        if not self.depth or len(node.targets) > 1 or not isinstance(target, ast.Name):
            return node
        return ast.Expr(ast.NamedExpr(target, node.value))


class Annotated(InFunctions):
    """Parameters, results and assignments of one name have annotations."""

    def __init__(self, declared: set[str]) -> None:
        super().__init__()
        self.declared = declared  # global or nonlocal: these cannot be annotated

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Annotate what a function takes and gives."""
        for each in arguments_of(node):
            each.annotation = each.annotation or ast.Name("object", ast.Load())
        node.returns = node.returns or ast.Name("object", ast.Load())
        return super().visit_FunctionDef(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """An assignment of one name, in a function."""
        target = node.targets[0]
        if not self.depth or len(node.targets) > 1 or not isinstance(target, ast.Name) or target.id in self.declared:
            return node
        return ast.AnnAssign(target, ast.Name("object", ast.Load()), node.value, simple=1)


class Swapped(ast.NodeTransformer):
    """``if c: A else: B`` is ``if not c: B else: A``."""

    def visit_If(self, node: ast.If) -> ast.AST:
        """A statement with both branches."""
        self.generic_visit(node)
        if node.orelse:
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """An expression."""
        self.generic_visit(node)
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


class NamedResults(InFunctions):
    """``return e`` is ``to_return = e``, then ``return to_return``."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        """A return of a value that is computed here."""
        if node.value is None or isinstance(node.value, (ast.Name, ast.Constant)):
            return node
        named = ast.Assign([ast.Name("to_return", ast.Store())], node.value)
        return [named, ast.Return(ast.Name("to_return", ast.Load()))]


class Iterators(ast.NodeTransformer):
    """``for x in e`` is ``for x in iter(e)``."""

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop."""
        self.generic_visit(node)
        node.iter = ast.Call(ast.Name("iter", ast.Load()), [node.iter], [])
        return node


def walrus(tree: ast.Module, todo: str) -> ast.Module:
    """Assignments are expressions."""
    return Walrus().visit(tree)


def annotated(tree: ast.Module, todo: str) -> ast.Module:
    """Everything is annotated."""
    declared = {name for node in ast.walk(tree) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    return Annotated(declared).visit(tree)


def swapped_branches(tree: ast.Module, todo: str) -> ast.Module:
    """Conditions are negated, and branches change places."""
    return Swapped().visit(tree)


def named_results(tree: ast.Module, todo: str) -> ast.Module:
    """Results have a name before they are returned."""
    return NamedResults().visit(tree)


def iterators(tree: ast.Module, todo: str) -> ast.Module:
    """Loops go over iterators."""
    return Iterators().visit(tree)


def finally_passed(tree: ast.Module, todo: str) -> ast.Module:
    """The lines of each function are in a ``try`` that catches nothing."""
    for function in outermost(tree):
        start = 1 if ast.get_docstring(function) is not None else 0
        if function.body[start:]:
            function.body[start:] = [ast.Try(function.body[start:], [], [], [ast.Pass()])]
    return tree


def imports_inside(tree: ast.Module, todo: str) -> ast.Module:
    """Each function imports anew what the cell imports on top."""
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    imports = [node for node in imports if getattr(node, "module", "") != "__future__"]
    for function in outermost(tree):
        start = 1 if ast.get_docstring(function) is not None else 0
        function.body[start:start] = imports
    return tree
