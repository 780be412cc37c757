"""Rewritings of the shape of an answer: what the TODO's name stands for, and what calls what.

Each takes the syntax tree of an answer's cell, which it may change, and the name of its TODO, and returns the tree; or
None where it does not apply.
"""

from __future__ import annotations

import ast
import copy

from autograde.cells.parsing import parse
from autograde.rewritings.statements import FUNCTIONS, arguments_of, outermost


def function_of(tree: ast.Module, todo: str) -> ast.FunctionDef | None:
    """The function that answers the TODO, if a plain function does."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == todo]
    return found[-1] if len(found) == 1 and not found[0].decorator_list else None


def class_of(tree: ast.Module, todo: str) -> ast.ClassDef | None:
    """The class that answers the TODO, if one does and never names itself."""
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == todo]
    if len(found) != 1 or found[0].decorator_list:
        return None
    named = any(isinstance(node, ast.Name) and node.id == todo for node in ast.walk(found[0]))
    return None if named else found[0]


def lines(text: str) -> list[ast.stmt]:
    """The statements of a text."""
    return parse(text).body


def passed_on(function: ast.FunctionDef) -> str:
    """The arguments of a call that passes a function's own parameters on."""
    given = function.args
    parts = [each.arg for each in (*given.posonlyargs, *given.args)]
    parts += [f"*{each.arg}" for each in [given.vararg] if each is not None]
    parts += [f"{each.arg}={each.arg}" for each in given.kwonlyargs]
    parts += [f"**{each.arg}" for each in [given.kwarg] if each is not None]
    return ", ".join(parts)


def helper(tree: ast.Module, todo: str) -> ast.Module | None:
    """The TODO's function calls another one, which does the work."""
    if (function := function_of(tree, todo)) is None:
        return None
    front = copy.deepcopy(function)
    front.body = lines(f"return do_the_work({passed_on(function)})")
    function.name = "do_the_work"
    tree.body.insert(tree.body.index(function) + 1, front)
    return tree


def callable_object(tree: ast.Module, todo: str) -> ast.Module | None:
    """The TODO's name is that of an object with ``__call__``."""
    if (function := function_of(tree, todo)) is None:
        return None
    place = tree.body.index(function)
    [kind] = lines("class Answer:\n    pass")
    function.name = "__call__"
    function.decorator_list = [ast.Name("staticmethod", ast.Load())]
    kind.body = [function]
    tree.body[place : place + 1] = [kind, *lines(f"{todo} = Answer()")]
    return tree


def partial(tree: ast.Module, todo: str) -> ast.Module | None:
    """The TODO's name is that of a ``functools.partial``."""
    if (function := function_of(tree, todo)) is None:
        return None
    function.name = "answer"
    first = ast.arg("nothing")
    (function.args.posonlyargs or function.args.args).insert(0, first)
    place = tree.body.index(function)
    tree.body[place + 1 : place + 1] = lines(f"from functools import partial\n{todo} = partial(answer, None)")
    return tree


def decorated(tree: ast.Module, todo: str) -> ast.Module | None:
    """The TODO's function has a decorator that passes calls on."""
    if (function := function_of(tree, todo)) is None:
        return None
    function.decorator_list = [ast.Name("passed_on", ast.Load())]
    decorator = """
import functools
def passed_on(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    return call
"""
    place = tree.body.index(function)
    tree.body[place:place] = lines(decorator)
    return tree


def inner_function(tree: ast.Module, todo: str) -> ast.Module | None:
    """The lines of the TODO's function are in a function inside it, which takes nothing."""
    function = function_of(tree, todo)
    if function is None or any(
        isinstance(node, (ast.Yield, ast.YieldFrom, ast.Nonlocal)) for node in ast.walk(function)
    ):
        return None
    parameters = {each.arg for each in arguments_of(function)}
    stored = {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    if parameters & stored:
        return None
    start = 1 if ast.get_docstring(function) is not None else 0
    [inner] = lines("def run():\n    pass")
    inner.body = function.body[start:]
    function.body[start:] = [inner, *lines("return run()")]
    return tree


def subclass(tree: ast.Module, todo: str) -> ast.Module | None:
    """The TODO's class inherits from one that does the work."""
    if (kind := class_of(tree, todo)) is None:
        return None
    kind.name = "Base"
    place = tree.body.index(kind)
    tree.body[place + 1 : place + 1] = lines(f"class {todo}(Base):\n    pass")
    return tree


def mixin(tree: ast.Module, todo: str) -> ast.Module | None:
    """The methods of the TODO's class but ``__init__`` are in a class of their own, from which it inherits, too."""
    if (kind := class_of(tree, todo)) is None:
        return None
    moved = [node for node in kind.body if isinstance(node, FUNCTIONS) and node.name != "__init__"]
    if not moved or any(isinstance(node, ast.Name) and node.id == "super" for each in moved for node in ast.walk(each)):
        return None
    [methods] = lines("class Methods:\n    pass")
    methods.body = moved
    kind.body = [node for node in kind.body if node not in moved] or [ast.Pass()]
    kind.bases.insert(0, ast.Name("Methods", ast.Load()))
    tree.body.insert(tree.body.index(kind), methods)
    return tree


def printed(tree: ast.Module, todo: str) -> ast.Module | None:
    """Each function says that it begins, but for handlers of signals; None for an answer that is about printing."""
    if any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree)):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    handed = [entry for call in calls if ast.unparse(call.func).endswith("signal") for entry in call.args]
    handlers = {ast.unparse(entry).rpartition(".")[2] for entry in handed}
    for function in outermost(tree):
        if function.name in handlers:
            continue
        start = 1 if ast.get_docstring(function) is not None else 0
        function.body[start:start] = lines(f"print({function.name!r}, 'begins', flush=True)")
    return tree
