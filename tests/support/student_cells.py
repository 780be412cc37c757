"""A student's cell in a test: its source text, run on the ranks as a check runs it."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from autograde.contract.subject import Subject


def cell(source: str, todo: str = "f") -> Subject:
    """The subject for a cell with this source; line 1 is the first line that is not blank."""
    return Subject(todo, dedent(source).lstrip("\n"))


def call(subject: Subject, *args: Any) -> Any:
    """Run the cell on a rank and call what it defines."""
    return subject.load()(*args)
