"""The names of torch that the kit's code uses, and those of them that the torch at hand does not have."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def torch_names(text: str) -> Iterator[str]:
    """Dotted names, such as `torch.distributed.all_reduce`, that the code in `text` uses through an import of torch."""
    tree, known = ast.parse(text), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "torch":
                    yield alias.name
                    known[alias.asname or "torch"] = alias.name if alias.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch" and not node.level:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in known:
            yield ".".join([known[node.id], *reversed(parts)])


def missing(name: str) -> bool:
    """Whether the torch at hand lacks the name."""
    first, *rest = name.split(".")
    thing, path = importlib.import_module(first), first
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(thing, part):
            try:
                thing = importlib.import_module(path)
            except ImportError:
                return True
        else:
            thing = getattr(thing, part)
    return False


def used_and_missing() -> tuple[set[str], list[str]]:
    """All names of torch that course/, autograde/ and solutions/ use, and those that are missing."""
    files = [path for folder in ("course", "autograde", "solutions") for path in (ROOT / folder).glob("**/*.py")]
    used = {name for path in files if "variants" not in path.parts for name in torch_names(path.read_text())}
    return used, sorted(filter(missing, used))
