"""A lab's cells: what kind each is, which is which in two texts of the lab, and lines that two people have changed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher

from nbformat import from_dict
from nbgrader.utils import compute_checksum

from course.overview.cells import Cell, tag_of


def is_answer(cell: Cell) -> bool:
    """Whether a student writes into it: a TODO, or a number or a text that a question asks for."""
    return tag_of(cell).get("locked") is False


def is_todo(cell: Cell) -> bool:
    """Whether it is a TODO's, whose code is checked."""
    return is_answer(cell) and bool(tag_of(cell).get("solution")) and not tag_of(cell).get("grade")


def name_of(cell: Cell) -> str:
    """The name of an answer's or a check's cell, which it keeps when the lab is corrected; empty for all others."""
    return str(tag_of(cell).get("grade_id", "")) if is_answer(cell) or tag_of(cell).get("grade") else ""


def todos(cells: Sequence[Cell]) -> dict[str, int]:
    """The numbers of a lab's TODOs by name, from 1."""
    return {name_of(cell): number for number, cell in enumerate(filter(is_todo, cells), 1)}


def is_untouched(cell: Cell) -> bool:
    """Whether an answer's cell is as it was released, by nbgrader's checksum; that of a number has none."""
    return tag_of(cell).get("checksum") == compute_checksum(from_dict(cell))


def mark(cell: Cell) -> tuple[str, ...]:
    """What tells a cell of one release from that of another, whatever a student has written into it."""
    tag = tag_of(cell)
    if is_answer(cell):
        return name_of(cell), str(tag.get("checksum"))
    return str(cell.get("cell_type")), cell["source"].strip(), str(tag.get("points", ""))


def successors(old: Sequence[Cell], new: Sequence[Cell]) -> dict[int, int]:
    """Which cell of `new` each cell of `old` has become, by index: of the same name, the same text, or in its place."""
    keys = [
        [name_of(cell) or (cell.get("cell_type"), cell["source"].strip()) for cell in cells] for cells in (old, new)
    ]
    named = {key: index for index, key in enumerate(keys[1]) if isinstance(key, str)}
    found = {index: named[key] for index, key in enumerate(keys[0]) if isinstance(key, str) and key in named}
    for kind, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        pairs = list(zip(range(a, b), range(c, d), strict=True)) if kind == "equal" else []
        for place in ("code", "markdown") if kind == "replace" else ():
            lists = [
                [one for one in span if cells[one].get("cell_type") == place and not name_of(cells[one])]
                for cells, span in ((old, range(a, b)), (new, range(c, d)))
            ]
            pairs += zip(*lists, strict=False)
        found |= {one: other for one, other in pairs if one not in found and other not in found.values()}
    return found


def with_changes(base: str, mine: str, new: str) -> str | None:
    """The text `mine` with what leads from `base` to `new`; None if that touches lines that are changed in `mine`."""
    if mine == base or new == base:
        return new if mine == base else mine
    lines, own, corrected = (text.splitlines() for text in (base, mine, new))
    same = SequenceMatcher(None, lines, own, autojunk=False).get_matching_blocks()[:-1]
    for kind, a, b, c, d in reversed(SequenceMatcher(None, lines, corrected, autojunk=False).get_opcodes()):
        if kind != "equal":
            block = next((one for one in same if one.a <= a and b <= one.a + one.size), None)
            if block is None:
                return None
            own[a - block.a + block.b : b - block.a + block.b] = corrected[c:d]
    return "\n".join(own)


def same_code(text: str, other: str) -> bool:
    """Whether two cells compute the same: they differ in comments, docstrings and layout at most."""
    if text.strip() == other.strip():
        return True
    try:
        return code_of(text) == code_of(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def code_of(text: str) -> str:
    """What a cell computes, without its docstrings. Raises SyntaxError or ValueError."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
