"""Which cells of a student's notebook count as a TODO, by their tags, their ids, and what they define.

Grading and `nbgrader validate` both ask here, so that they read the same text. Nothing of the notebook is run, and
nothing in it is trusted.

- A cell is found by its nbgrader tag; if no cell has that tag, by its cell id, which survives a cleared tag.
- Of several, the last that is not blank counts, as it is the one that counts when a notebook is run from top to bottom
  (nbgrader also keeps the last). One that defines the TODO's name goes before one that does not: those are parts of it,
  as JupyterLab's "Split Cell" copies the tag. They are put together in their order.
- Where none of them defines it, or each still has the line it was released with, the last other cell that defines it
  counts: one without any tag, or the cell of another TODO, with which it was merged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass

from autograde.cells.cell_code import bound_names, has_stub
from course.files import Unreadable
from course.overview.cells import is_one_of
from course.overview.cells import match as match_cells

# Characters of the longest cell that is graded. The longest solution has a tenth of it.
MAX_SOURCE = 100_000
MAX_CELLS = 10_000  # cells that are read
MOST_SEARCHED = 50  # cells without the TODO's tag that are looked at for its name, from below


@dataclass(frozen=True)
class Submitted:
    """What is used of one cell of a submission. source: None if it has no readable text. attachments: the pictures that
    were pasted into it, unchecked: they may be anything."""

    name: str
    cell_type: str
    source: str | None
    tag: dict
    attachments: object = None

    def defines(self, name: str) -> bool:
        """Whether this cell binds `name` at its top level."""
        readable = self.source is not None and len(self.source) <= MAX_SOURCE and name in self.source
        return readable and name in bound_names(self.source)


@dataclass(frozen=True)
class Chosen:
    """What counts as a TODO. parts: the cells, in their order. main: the one of them that defines it, if one does.
    elsewhere: whether that is neither tagged nor named as the TODO."""

    main: Submitted
    parts: list[Submitted]
    elsewhere: bool = False

    @property
    def source(self) -> str | None:
        """The text of all parts; None if it has no readable text."""
        return self.main.source if len(self.parts) < 2 else "\n".join(part.source for part in self.parts)


def choose(
    name: str,
    cells: list[Submitted],
    own: list[Submitted],
    blank: Callable[[Submitted], bool],
    todos: Collection[str],
) -> Chosen | None:
    """What counts as the TODO `name`; None if there is no cell for it.

    own: those of `cells` that have its tag, or its id. blank: whether one of them is as released. todos: of the lab.
    """
    copies = [cell for cell in own if cell.source is not None and not blank(cell)]
    whole = [cell for cell in copies if cell.defines(name)]
    if all(has_stub(cell.source) for cell in whole):
        mentioning = [cell for cell in cells if may_hold(name, cell, todos)][-MOST_SEARCHED:]
        others = [cell for cell in mentioning if cell.defines(name) and is_there(name, cell, todos)]
        done = [cell for cell in others if not has_stub(cell.source)]
        if found := (done if whole else done or others):
            beside = [] if whole else copies
            parts = [cell for cell in cells if cell is found[-1] or any(cell is each for each in beside)]
            return Chosen(found[-1], parts, elsewhere=True)
    if not own:
        return None
    main = (whole or copies or own)[-1]
    return Chosen(main, [cell for cell in copies if cell is main or cell not in whole] or [main])


def may_hold(name: str, cell: Submitted, todos: Collection[str]) -> bool:
    """Whether a cell may hold a TODO although it is another's, or nobody's, as far as its tag tells."""
    if cell.cell_type != "code" or cell.source is None or name not in cell.source:
        return False
    tag = cell.tag.get("grade_id")
    return not cell.tag or (tag != name and is_one_of(tag, {*todos, f"{name}-check"}))


def is_there(name: str, cell: Submitted, todos: Collection[str]) -> bool:
    """Whether a cell that defines a TODO is its own, by its tag, too; else its tag has come from elsewhere."""
    tag = cell.tag.get("grade_id")
    return not is_one_of(tag, {*todos}) or cell.defines(tag)


def match(cells: list[Submitted], names: Collection[str]) -> dict[str, list[Submitted]]:
    """The cells for each name, see `course.overview.cells.match`."""
    return match_cells(cells, names, lambda cell: cell.tag.get("grade_id"), lambda cell: cell.name)


def read_cells(raw: bytes) -> list[Submitted]:
    """The cells in the bytes of a notebook. Raises Unreadable."""
    if not raw.strip():
        raise Unreadable("is empty")
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not JSON: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not JSON: line {error.lineno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
        raise Unreadable(f"is not JSON: {type(error).__name__}") from error
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise Unreadable("is JSON, but not a notebook: it has no list of cells")
    if len(data["cells"]) > MAX_CELLS:
        raise Unreadable(f"has {len(data['cells']):,} cells, more than {MAX_CELLS:,}")
    return [read_cell(cell) for cell in data["cells"] if isinstance(cell, dict)]


def read_cell(cell: dict) -> Submitted:
    """One cell, whatever it contains."""
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    tag = metadata.get("nbgrader") if isinstance(metadata.get("nbgrader"), dict) else {}
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    source = unix_lines(source) if isinstance(source, str) else None
    return Submitted(str(cell.get("id")), str(cell.get("cell_type")), source, tag, cell.get("attachments"))


def unix_lines(text: str) -> str:
    """`text` with line ends as here."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def same_text(text: str | None, other: str) -> bool:
    """Whether two cells' texts are the same except for white space at the ends."""
    return text is not None and text.strip() == other.strip()
