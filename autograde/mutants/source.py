"""Source text with the places of its syntax tree's nodes, so that a change leaves all other text as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from autograde.cells.parsing import parse


@dataclass(frozen=True)
class Edit:
    """A change of a text: what goes in for the bytes from `start` to `end`."""

    start: int
    end: int
    new: bytes


class Source:
    """A text of Python and its tree. Places are in bytes of UTF-8, as `ast` counts columns. Raises SyntaxError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = text.encode()
        self.tree = parse(text)
        self._lines = [0]
        for line in self.bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.AST) -> int:
        """Where a node begins."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.AST) -> int:
        """Where a node ends."""
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def segment(self, node: ast.AST) -> bytes:
        """The text of a node."""
        return self.bytes[self.start(node) : self.end(node)]

    def operand(self, node: ast.expr) -> bytes:
        """The text of an expression, fit to stand beside an operator."""
        simple = isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript))
        return self.segment(node) if simple else b"(" + self.segment(node) + b")"

    def put(self, node: ast.AST, new: str | bytes) -> Edit:
        """The change that puts something in the place of a node."""
        return Edit(self.start(node), self.end(node), new.encode() if isinstance(new, str) else new)

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[Edit]:
        """The change of the operator that stands between two nodes; none if it is not there as `old`."""
        begin, gap = self.end(left), self.bytes[self.end(left) : self.start(right)]
        if (place := gap.find(old.encode())) >= 0:
            yield Edit(begin + place, begin + place + len(old), new.encode())

    def changed(self, edit: Edit) -> str:
        """The text after a change."""
        return (self.bytes[: edit.start] + edit.new + self.bytes[edit.end :]).decode()
