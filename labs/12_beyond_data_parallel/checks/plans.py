"""A plan of a pipeline as plain data: each pass as text, such as "F3"; runs beside the student's code."""

from __future__ import annotations

from typing import Any

MOST = 200  # rows, and entries of a row, that are shown
OTHER = "?"


def shown_plan(plan: Any) -> list[list[str | None]] | None:
    """The rows of a plan; None if it is no list of lists."""
    if not isinstance(plan, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in plan):
        return None
    return [[shown_entry(each) for each in row[:MOST]] for row in plan[:MOST]]


def shown_entry(entry: Any) -> str | None:
    """An entry: a pass, a bubble, or "?" for anything else."""
    if entry is None:
        return None
    if isinstance(entry, (list, tuple)) and len(entry) == 2 and entry[0] in ("F", "B") and type(entry[1]) is int:
        return f"{entry[0]}{entry[1]}"
    return OTHER
