"""What `nbgrader validate` checks: the text that grading would take from the notebook's file, for each TODO.

There the notebook is run by a program that tells nothing of its cells, and several may define one TODO. So its file is
looked for, beside the checks: the one whose cells are those that were run.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from autograde.cells.cell_code import has_stub
from autograde.cells.handed_in import Submitted, choose, match, read_cells, unix_lines
from course.exchange.limits import MAX_NOTEBOOK, notebook_too_large
from course.files import Unreadable, read_plain


class TooLarge(Exception):
    """The notebook is too large to be handed in. The message says what to do."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def handed_in(folder: Path, todo: str, todos: Collection[str], ran: list[str]) -> str | None:
    """The text that counts as `todo` in the notebook that is run; None if there is no such cell, or no such notebook.

    folder: of the lab. todos: of the lab. ran: the sources that were run until now, oldest first.
    Raises TooLarge if the lab's notebook could not be handed in.
    """
    if reason := notebook_too_large(folder / f"{folder.name}.ipynb"):
        raise TooLarge(reason)
    cells = notebook_that_runs(folder, ran)
    if cells is None:
        return None
    chosen = choose(todo, cells, match(cells, todos)[todo], lambda cell: has_stub(cell.source or ""), todos)
    return chosen.source if chosen else None


def notebook_that_runs(folder: Path, ran: list[str]) -> list[Submitted] | None:
    """The cells of the notebook in `folder` whose code begins with what was run; of several, the lab's own first."""
    begun = [text for each in ran if (text := unix_lines(each).strip())]
    for path in sorted(folder.glob("*.ipynb"), key=lambda path: (path.stem != folder.name, path.name)):
        try:
            cells = read_cells(read_plain(path, MAX_NOTEBOOK))
        except (OSError, Unreadable):
            continue
        code = [text for cell in cells if cell.cell_type == "code" and (text := (cell.source or "").strip())]
        if begun and code[: len(begun)] == begun:
            return cells
    return None
