"""The text of a notebook's cell, as Python that runs where there is no notebook: on a rank.

What only a notebook can do is left out there: `%matplotlib inline`, `!pip install`, `%timeit f(3)` do nothing, and cost
nothing. `%%time` and its like run their cell, and `await` at the top level runs, as in a notebook.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from autograde.cells.parsing import parse
from course.world.report import STUB

CELL_MAGIC = re.compile(r"%%(\w+)")
ALONE = "Only this cell is handed in: whatever it uses must be imported or defined in it."
RUN_THEIR_CELL = frozenset({"capture", "prun", "time", "timeit"})  # cell magics; what others hold is no Python of ours


class NoNotebook:
    """What `get_ipython()` gives on a rank: whatever it is asked to do, it does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **named: None


def display(*objects: Any, **named: Any) -> None:
    """A notebook's `display`. Prints what it is given."""
    print(*map(repr, objects), sep="\n")


# What a notebook has beside Python's own names.
NOTEBOOK_NAMES = {"get_ipython": NoNotebook, "display": display}


def python_source(source: str) -> str:
    """`source` as Python, line by line; nothing if its cell magic, as `%%bash`, says that it is none.

    Magics and shell commands are calls of `get_ipython()`, as a notebook makes them. Raises SyntaxError.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    lines = source.split("\n")
    for number, line in enumerate(lines):
        magic = CELL_MAGIC.match(line)
        if magic and magic[1] in RUN_THEIR_CELL:
            lines[number] = f"# {line}"
        elif magic:
            return ""
        elif line.strip():
            break
    return TransformerManager().transform_cell("\n".join(lines))


def run_cell(source: str, filename: str, namespace: dict[str, Any]) -> None:
    """Run a cell in this namespace. Raises what it raises."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(python_source(source), filename, "exec", flags, dont_inherit=True)
    if not code.co_flags & inspect.CO_COROUTINE:
        exec(code, namespace)
        return

    async def awaited() -> None:
        await eval(code, namespace)

    with ThreadPoolExecutor(1) as pool:  # a rank's own thread has a loop that runs
        pool.submit(asyncio.run, awaited()).result()


def by_stub(error: BaseException) -> bool:
    """Whether what raised is the line that a TODO is released with, and not torch or Horovod."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, NotImplementedError) and bool(frames) and is_stub(frames[-1].line)


def is_stub(line: str | None) -> bool:
    """Whether a line of code is the one that a TODO is released with."""
    return bool(line) and line.strip() == STUB


def has_stub(cell: str) -> bool:
    """Whether the line that a TODO is released with is still in its cell."""
    return any(map(is_stub, cell.splitlines()))


def bound_names(cell: str) -> set[str]:
    """Names that a cell binds at its top level. If it is not valid Python: names after `def` or `class`."""
    try:
        tree = parse(python_source(cell))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply
        words = (line.split("(")[0].split(":")[0].split() for line in cell.splitlines())
        return {parts[1] for parts in words if len(parts) == 2 and parts[0] in ("def", "class")}
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name))
    return names


def lacks_name(error: str) -> bool:
    """Whether an error, with its type, is that a name is missing."""
    return re.search(r"\b(NameError|NoSuchName): ", error) is not None
