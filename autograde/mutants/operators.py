"""Mutation operators: each makes small changes of an answer, as a slip of the keyboard or of the mind would.

The general ones are those of mutmut and cosmic-ray. Both change a module's file and run a test command on each change;
here an answer is a text, and what ranks do goes wrong in ways of its own: size for rank, a reduction's operation,
`detach`, `no_grad`. So the operators are written on `ast` and keep the text around a change as it is.

A signature, annotations, docstrings, imports and the texts of messages are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from autograde.mutants.devices import device_parts, is_device, moves, moves_only
from autograde.mutants.source import Edit, Source

DEVICE = "device"  # the operator of changes that only a machine with a GPU may tell

ARITHMETIC = {
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*")},
    **{ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "//"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")},
}
COMPARISONS = {
    **{ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is")},
    **{ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")},
}
# Names that are taken for one another, as attributes, functions, variables of the answer, or in a text.
CONFUSED = {
    **{"rank": ("size", "local_rank"), "size": ("rank",), "local_rank": ("rank",), "world_size": ("rank",)},
    **{"get_rank": ("get_world_size",), "get_world_size": ("get_rank",), "local_size": ("size",)},
    **{"Get_rank": ("Get_size",), "Get_size": ("Get_rank",), "cross_rank": ("rank",)},
    **{"RANK": ("LOCAL_RANK",), "LOCAL_RANK": ("RANK",), "WORLD_SIZE": ("RANK",)},
}
REDUCTIONS = {
    **{"SUM": ("MAX", "PROD", "AVG", "PRODUCT"), "MAX": ("MIN", "SUM"), "MIN": ("MAX", "SUM"), "AVG": ("SUM", "MAX")},
    **{"PROD": ("SUM", "MAX"), "PRODUCT": ("SUM", "MAX"), "Sum": ("Average", "Max"), "Average": ("Sum", "Max")},
    **{"sum": ("mean", "max"), "mean": ("sum", "max"), "max": ("min",), "min": ("max",)},
}
MISSING = {"MPI": {"AVG", "PRODUCT"}, "ReduceOp": {"PROD"}}  # operations that a library does not know
LEFT_OUT = ("detach", "item", "clone", "contiguous", "copy")  # methods that give their object's value
MODES = {"no_grad": "enable_grad()", "inference_mode": "inference_mode(False)"}
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.Assert, ast.Delete, ast.Break, ast.Continue)

Edits = Iterator[Edit]


def changes(source: Source) -> Iterator[tuple[str, Edit]]:
    """All small changes of an answer, each with its operator's name, in the order of the text."""
    parts = [(source.start(part), source.end(part)) for part in device_parts(source)]

    def name(operator: str, edit: Edit) -> str:
        return DEVICE if any(start <= edit.start and edit.end <= end for start, end in parts) else operator

    found = [
        (name(operator, edit), edit)
        for node in candidates(source.tree)
        for operator, function in OPERATORS.items()
        for edit in function(source, node)
    ]
    yield from sorted(found, key=lambda change: (change[1].start, change[1].end))


def candidates(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes to change: no signatures, annotations, docstrings or imports, nothing inside f-strings."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.arguments)):
            continue
        yield node
        left = {id(getattr(node, "annotation", None)), id(getattr(node, "returns", None))}
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None:
            left.add(id(node.body[0]))
        if isinstance(node, ast.Raise):
            left.add(id(node.exc))
        waiting += [child for child in ast.iter_child_nodes(node) if id(child) not in left]


def arithmetic(source: Source, node: ast.AST) -> Edits:
    """Another operator: ``+`` for ``-``; ``-x`` as ``x``."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield from source.between(node.left, node.right, *ARITHMETIC[type(node.op)])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield Edit(source.start(node), source.start(node) + 1, b"")


def assignment(source: Source, node: ast.AST) -> Edits:
    """``+=`` as ``=`` and as ``-=``."""
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        old, new = ARITHMETIC[type(node.op)]
        for other in ("=", f"{new}="):
            yield from source.between(node.target, node.value, f"{old}=", other)


def constant(source: Source, node: ast.AST) -> Edits:
    """A number one off, or 0; True for False; an empty text or list."""
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts and isinstance(node.ctx, ast.Load):
        if isinstance(node, ast.List):
            yield source.put(node, "[]")
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield source.put(node, str(not value))
        elif isinstance(value, (int, float)):
            for other in dict.fromkeys((value + 1, value - 1, type(value)(0))):
                if other != value:
                    yield source.put(node, repr(other))
        elif isinstance(value, str) and value:
            yield source.put(node, '""')


def comparison(source: Source, node: ast.AST) -> Edits:
    """Another comparison: ``<=`` for ``<``."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, right, kind in zip(sides, node.comparators, node.ops, strict=False):
            old, *others = COMPARISONS[type(kind)]
            for new in others:
                yield from source.between(left, right, old, new)


def boolean(source: Source, node: ast.AST) -> Edits:
    """``and`` for ``or``; ``not`` left out; a condition that always or never holds."""
    if isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from source.between(left, right, old, new)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield Edit(source.start(node), source.start(node) + len("not "), b"")
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield from (source.put(node.test, value) for value in ("True", "False"))
    elif isinstance(node, ast.While):
        yield source.put(node.test, "False")
    elif isinstance(node, ast.comprehension):
        yield from (source.put(test, value) for test in node.ifs for value in ("True", "False"))


def statement(source: Source, node: ast.AST) -> Edits:
    """A statement left out; ``continue`` for ``break``."""
    if isinstance(node, SIMPLE) and not moves_only(node):
        yield source.put(node, "pass")
    if isinstance(node, (ast.Break, ast.Continue)):
        yield source.put(node, "continue" if isinstance(node, ast.Break) else "break")


def argument(source: Source, node: ast.AST) -> Edits:
    """An argument of a call left out; two neighbours swapped, but for those of `min` and `max`."""
    if not isinstance(node, ast.Call):
        return
    given = in_order(source, node)
    for one in given:
        if not is_device(node, one):
            yield without(source, node, one)
    symmetric = isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
    for one, other in zip(node.args, node.args[1:], strict=False) if not symmetric else ():
        if not isinstance(one, ast.Starred) and not isinstance(other, ast.Starred):
            gap = source.bytes[source.end(one) : source.start(other)]
            new = source.segment(other) + gap + source.segment(one)
            yield Edit(source.start(one), source.end(other), new)


def confused_name(source: Source, node: ast.AST) -> Edits:
    """The size for the rank, the local rank for the rank."""
    if isinstance(node, ast.Attribute):
        at = source.end(node) - len(node.attr.encode())
        for other in CONFUSED.get(node.attr, ()):
            if other != "local_rank" or source.segment(node.value) == b"hvd":
                yield Edit(at, source.end(node), other.encode())
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from (source.put(node, other) for other in CONFUSED.get(node.id, ()) if other in names(source))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from (source.put(node, f'"{other}"') for other in CONFUSED.get(node.value, ()))


def reduction(source: Source, node: ast.AST) -> Edits:
    """Another operation of a reduction: MAX for SUM, the sum for the mean."""
    if isinstance(node, ast.Attribute):
        library = source.segment(node.value).decode().rpartition(".")[2]
        at = source.end(node) - len(node.attr.encode())
        for other in REDUCTIONS.get(node.attr, ()):
            if other not in MISSING.get(library, ()):
                yield Edit(at, source.end(node), other.encode())
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from (source.put(node, f'"{other}"') for other in REDUCTIONS.get(node.value, ())[:1])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
        yield source.put(node.func, "max" if node.func.id == "min" else "min")


def method(source: Source, node: ast.AST) -> Edits:
    """`detach`, `item` or `clone` left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEFT_OUT:
        yield source.put(node, source.segment(node.func.value))


def gradient_mode(source: Source, node: ast.AST) -> Edits:
    """Gradients recorded where they should not be; `train` for `eval`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        at = source.end(node.func) - len(node.func.attr)
        if node.func.attr in MODES and not node.args:
            yield Edit(at, source.end(node), MODES[node.func.attr].encode())
        elif node.func.attr in ("train", "eval"):
            other = "eval" if node.func.attr == "train" else "train"
            yield Edit(at, source.end(node), f"{other}()".encode())


def ends(source: Source, node: ast.AST) -> Edits:
    """The ends of a slice, or of a range, one off or left out."""
    if isinstance(node, ast.Slice):
        yield from slice_ends(source, node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        *_, stop = node.args[:2]
        for sign in "-+":
            yield source.put(stop, source.operand(stop) + f" {sign} 1".encode())
        first = node.args[0]
        yield source.put(first, b"1, " + source.segment(first) if stop is first else source.operand(first) + b" + 1")


def slice_ends(source: Source, node: ast.Slice) -> Edits:
    """The ends of a slice."""
    colon = source.bytes.index(b":", source.end(node.lower) if node.lower else source.start(node)) + 1
    if node.lower:
        yield source.put(node.lower, "")
        yield source.put(node.lower, source.operand(node.lower) + b" + 1")
    else:
        yield Edit(colon - 1, colon - 1, b"1")
    if node.upper:
        yield source.put(node.upper, "")
        yield source.put(node.upper, source.operand(node.upper) + b" - 1")
    else:
        yield Edit(colon, colon, b"-1")
    if node.step:
        yield source.put(node.step, "")


def device(source: Source, node: ast.AST) -> Edits:
    """What puts tensors onto a device left out: `.to(device)`, `.cpu()`, ``device=``."""
    if isinstance(node, SIMPLE) and moves_only(node):
        yield source.put(node, "pass")
    if isinstance(node, ast.Call):
        yield from (without(source, node, one) for one in in_order(source, node) if is_device(node, one))
        if moves(node) and node.func.attr != "set_device":
            yield source.put(node, source.segment(node.func.value))


OPERATORS: dict[str, Callable[[Source, ast.AST], Edits]] = {
    "arithmetic": arithmetic,
    "assignment": assignment,
    "constant": constant,
    "comparison": comparison,
    "boolean": boolean,
    "statement": statement,
    "argument": argument,
    "confused name": confused_name,
    "reduction": reduction,
    "method": method,
    "gradient mode": gradient_mode,
    "ends": ends,
    DEVICE: device,
}


def names(source: Source) -> set[str]:
    """Names of variables and arguments in an answer."""
    found = {node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg)}
    return found | {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}


def in_order(source: Source, call: ast.Call) -> list[ast.expr | ast.keyword]:
    """The arguments of a call as they stand in the text."""
    return sorted([*call.args, *call.keywords], key=source.start)


def without(source: Source, call: ast.Call, left: ast.AST) -> Edit:
    """The change that leaves an argument of a call out."""
    kept = [source.segment(one) for one in in_order(source, call) if one is not left]
    opening = source.bytes.index(b"(", source.end(call.func))
    return Edit(opening, source.end(call), b"(" + b", ".join(kept) + b")")
