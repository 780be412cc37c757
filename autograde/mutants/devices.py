"""The parts of an answer that choose a device, or move something to one: what is wrong there may need a GPU to show."""

from __future__ import annotations

import ast
import re

from autograde.mutants.source import Source

ON_DEVICES = ("to", "cuda", "cpu", "set_device")
DEVICE_ARGUMENTS = ("device", "map_location", "non_blocking", "pin_memory")


def device_parts(source: Source) -> list[ast.AST]:
    """The parts of an answer that choose a device, or run only where there are GPUs."""
    found: list[ast.AST] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["device"]:
            found.append(node.value)
        elif isinstance(node, (ast.If, ast.IfExp)) and re.search("cuda|nccl", ast.unparse(node.test)):
            found += [node.test, *(node.body if isinstance(node, ast.If) else [node.body])]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("torch.device", "torch.cuda.set_device"):
            found.append(node)
    return found


def moves(node: ast.AST) -> bool:
    """Whether a call only moves something to a device; ``.to(torch.float64)`` does not."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in ON_DEVICES:
        return False
    parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    mentioned = [leaf for part in parts for leaf in ast.walk(part)]
    return not any("dtype" in ast.dump(leaf) or getattr(leaf, "attr", "").startswith("float") for leaf in mentioned)


def moves_only(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but move something to a device."""
    value = getattr(statement, "value", None)
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(isinstance(part, ast.AST) and moves(part) for part in parts)


def is_device(call: ast.Call, one: ast.expr | ast.keyword) -> bool:
    """Whether an argument says on which device something is."""
    return moves(call) or (isinstance(one, ast.keyword) and one.arg in DEVICE_ARGUMENTS)
