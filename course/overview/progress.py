"""How far a student is with a notebook, from what is saved in it: its answers, and what its checks last said.

Nothing is run: the output of a check has its result in its metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import nbformat
from nbgrader.utils import compute_checksum

from course.overview import RESULT, text_mark
from course.overview.cells import Cell, NoNotebook, tag_of

CHECK = "-check"  # ends the grade_id of a TODO's check
NOT_TODAYS = "it is not a notebook of today's form"


@dataclass(frozen=True)
class Progress:
    """todos: how many checks there are. passed: how many of them passed when they were last run. begun: whether a cell
    was run or an answer was written. trouble: why nothing is known, or empty."""

    todos: int = 0
    passed: int = 0
    begun: bool = False
    trouble: str = ""

    @property
    def words(self) -> str:
        """It in words: "not begun", "begun", "passed 3 of 6"."""
        if self.trouble:
            return self.trouble
        if self.passed:
            return f"passed {self.passed} of {self.todos}"
        return "begun" if self.begun else "not begun"

    @property
    def done(self) -> bool:
        """Whether all checks passed."""
        return 0 < self.todos == self.passed


@dataclass(frozen=True)
class Todo:
    """How far one TODO is, by what is saved. untouched: its cells are as released. checked: its check was run on a text
    that is there. passed: and it passed."""

    name: str
    untouched: bool
    checked: bool
    passed: bool


def todos(cells: list[Cell]) -> list[Todo]:
    """The TODOs of a notebook with a check, in order. Raises NoNotebook."""
    try:
        texts = {text_mark(cell["source"]) for cell in cells if cell.get("cell_type") == "code"}
        return [todo(str(tag_of(cell)["grade_id"]).removesuffix(CHECK), cell, cells, texts) for cell in checks(cells)]
    except (AttributeError, KeyError, TypeError) as error:
        raise NoNotebook(NOT_TODAYS) from error


def todo(name: str, check: Cell, cells: list[Cell], texts: set[str]) -> Todo:
    """One TODO. check: its cell. texts: marks of all texts in code cells of the notebook."""
    own = [cell for cell in cells if tag_of(cell).get("solution") and tag_of(cell).get("grade_id") == name]
    checked = any(result.get("checked") in texts for result in results(check))
    untouched = bool(own) and not any(map(is_changed, own))
    return Todo(name, untouched, checked, checked and has_passed(check))


def progress(cells: list[Cell]) -> Progress:
    """The progress in a notebook's cells. Raises NoNotebook."""
    try:
        passed = [cell for cell in checks(cells) if has_passed(cell)]
        return Progress(len(checks(cells)), len(passed), any(was_run(cell) or is_changed(cell) for cell in cells))
    except (AttributeError, KeyError, TypeError) as error:  # outputs or metadata of no known form
        raise NoNotebook(NOT_TODAYS) from error


def checks(cells: list[Cell]) -> list[Cell]:
    """The cells that check a TODO."""
    return [cell for cell in cells if is_check(cell)]


def is_check(cell: Cell) -> bool:
    """Whether a cell is a TODO's check."""
    tag = tag_of(cell)
    return bool(tag.get("grade")) and not tag.get("solution") and str(tag.get("grade_id")).endswith(CHECK)


def has_passed(cell: Cell) -> bool:
    """Whether a check's saved output says that it passed."""
    return any(result.get("passed") is True for result in results(cell))


def results(cell: Cell) -> list[dict[str, Any]]:
    """What the saved outputs of a check say of it."""
    return [output.get("metadata", {}).get(RESULT, {}) for output in cell.get("outputs", ())]


def was_run(cell: Cell) -> bool:
    """Whether a cell has been run."""
    return bool(cell.get("outputs") or cell.get("execution_count"))


def is_changed(cell: Cell) -> bool:
    """Whether a TODO's cell has another text than it was released with."""
    tag = tag_of(cell)
    return bool(tag.get("solution") and "checksum" in tag) and tag["checksum"] != compute_checksum(
        nbformat.from_dict(cell)
    )
