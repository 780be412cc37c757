"""Rebuilds the notebook to grade: the released one, with only the source text of the student's own cells put in.

A submission is not trusted, and nothing of it is run here. It is read as JSON, and the text of the TODOs' cells is
taken. Everything else (tags, outputs, other cells, their order) has no effect. Each problem is named in one sentence.

Policies, each for a mishap that happens to honest people:

- A cell is found by its nbgrader tag; if no cell has that tag, by its cell id, which survives a cleared tag.
- Of several cells with one tag, the last that is not blank is graded, as it is the one that counts when a notebook is
  run from top to bottom (nbgrader also keeps the last). A blank copy does not hide a written one, and one that defines
  the TODO's name goes before one that does not: those are parts of it, as JupyterLab's "Split Cell" copies the tag.
  They are put together in their order.
- Where no cell with the tag is written in, the last one without any tag that defines the name is graded.
- A missing cell is put back blank, and earns nothing. So does a cell whose text cannot be read.
- A notebook that is missing or unreadable is graded as blank, and marked for manual grading, as it may hold work.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from nbformat import NotebookNode

from autograde.contract.cell_code import bound_names
from autograde.contract.questions import is_todo
from autograde.contract.show import quoted
from course.files import Unreadable

# Characters of the longest cell that is graded. The longest solution has a tenth of it.
MAX_SOURCE = 100_000
# How many cells are read, and how many other notebooks are named.
MAX_CELLS = 10_000
MAX_OTHERS = 5


@dataclass
class Rebuilt:
    """A notebook to grade.

    notebook: the released one, with the student's text in its solution cells.
    problems: what was wrong with the submission, one sentence each.
    manual: why a person must look at it, if so.
    """

    notebook: NotebookNode
    problems: list[str] = field(default_factory=list)
    manual: str | None = None


@dataclass(frozen=True)
class Submitted:
    """What is used of one cell of a submission. source: None if it has no readable text."""

    name: str
    cell_type: str
    source: str | None
    tag: dict


def rebuild(released: NotebookNode, raw: bytes | Unreadable | None, lab: str, others: tuple[str, ...] = ()) -> Rebuilt:
    """Put the student's text into a copy of `released`. Raises nothing for what is in `raw`.

    released: the lab's notebook as students got it. raw: the file that was handed in; None if there is none;
    Unreadable, which says why, if it must not be read.
    lab: the lab's name, with which each problem begins. others: other notebooks that were handed in, by file name.
    """
    rebuilt = Rebuilt(copy.deepcopy(released))
    if raw is None:
        more = f" and {len(others) - MAX_OTHERS} more" if len(others) > MAX_OTHERS else ""
        found = f"; handed in: {', '.join(quoted(name) for name in others[:MAX_OTHERS])}{more}" if others else ""
        rebuilt.problems = [f"{lab}: there is no {lab}.ipynb in the submission; 0 of {total(released)} points{found}"]
        rebuilt.manual = "other notebooks were handed in" if others else None
        return rebuilt
    try:
        if isinstance(raw, Unreadable):
            raise raw
        cells = read_cells(raw)
    except Unreadable as error:
        rebuilt.problems = [f"{lab}: {lab}.ipynb {error}; it is graded as blank, 0 of {total(released)} points"]
        rebuilt.manual = f"{lab}.ipynb {error}"
        return rebuilt
    wanted = {cell.id: cell for cell in rebuilt.notebook.cells if cell.metadata.get("nbgrader")}
    matches = match(cells, list(wanted))
    solutions = [name for name, cell in wanted.items() if cell.metadata.nbgrader.solution]
    if not any(matches[name] or defining(name, cells) for name in solutions):
        rebuilt.problems = [f"{lab}: {foreign(cells)}; 0 of {total(released)} points"]
        return rebuilt
    points = {name: cell.metadata.nbgrader.get("points", 0) for name, cell in wanted.items()}
    for name, cell in wanted.items():
        if not cell.metadata.nbgrader.locked:
            found = matches[name]
            if is_todo(cell.metadata.nbgrader) and not written(found, cell.source):
                found = [*found, *defining(name, cells)[-1:]]
            problems = put_in(cell, found, points.get(f"{name}-check", points[name]))
        elif matches[name] and any(same_text(found.source, cell.source) for found in matches[name]):
            problems = []
        else:
            change = "was changed" if matches[name] else "is missing"
            problems = [f"cell `{name}` {change}; the lab's own is used"] if cell.metadata.nbgrader.grade else []
        rebuilt.problems += [f"{lab}: {sentence}" for sentence in problems]
    solutions = [name for name, cell in wanted.items() if not cell.metadata.nbgrader.locked]
    for name in moved(cells, solutions):
        rebuilt.problems.append(f"{lab}: cell `{name}` was moved; it is graded in its own place")
    return rebuilt


def put_in(cell: NotebookNode, found: list[Submitted], points: float) -> list[str]:
    """Put the text of the cells `found` for `cell` into it. Returns the problems."""
    name, blank = cell.id, cell.source
    earns = f", 0 of {points:g} points" if points else ""
    if not found:
        return [f"cell `{name}` is missing; it is put back empty{earns}"]
    problems = []
    copies = written(found, blank)
    whole = [copy for copy in copies if name in bound_names(copy.source)]
    chosen = (whole or copies or found)[-1]
    tag = cell.metadata.nbgrader
    parts = [copy for copy in copies if copy is chosen or copy not in whole] if is_todo(tag) else []
    if len(parts) > 1:
        problems.append(f"cell `{name}` was split into {len(parts)}; they are graded together, in their order")
        chosen = replace(chosen, source="\n".join(part.source for part in parts))
    elif len(found) > 1 and chosen.tag:
        problems.append(f"cell `{name}` is there {len(found)} times; the last one that was written in is graded")
    if not chosen.tag and chosen.name != name:
        problems.append(f"cell `{name}` is missing or blank; another cell that defines `{name}` is graded in its place")
    elif chosen.tag.get("grade_id") != name:
        problems.append(f"cell `{name}` has lost its nbgrader tag; it was found by its cell id, and is graded")
    elif any(chosen.tag.get(key) != tag[key] for key in ("grade", "locked", "solution")) or (
        chosen.tag.get("points") != tag.get("points")
    ):
        problems.append(f"cell `{name}` was retagged; the tags have no effect")
    if chosen.cell_type != cell.cell_type:
        turned = f"was turned into a {quoted(chosen.cell_type)} cell; its text is graded as {cell.cell_type}"
        problems.append(f"cell `{name}` {turned}")
    if chosen.source is None:
        return [*problems, f"cell `{name}` has no readable text; it is put back empty{earns}"]
    if len(chosen.source) > MAX_SOURCE:
        size = f"{len(chosen.source):,} characters, more than {MAX_SOURCE:,}"
        return [*problems, f"cell `{name}` has {size}; it is put back empty{earns}"]
    text = chosen.source.encode("utf-8", "replace").decode()  # JSON can carry half a surrogate pair, a file cannot
    if text != chosen.source:
        problems.append(f"cell `{name}` has characters that are no text; they are replaced by ?")
    cell.source = text
    return problems


def written(found: list[Submitted], blank: str) -> list[Submitted]:
    """Those of the cells `found` that have a text other than `blank`."""
    return [cell for cell in found if cell.source is not None and not same_text(cell.source, blank)]


def defining(name: str, cells: list[Submitted]) -> list[Submitted]:
    """The code cells without any tag that define `name`."""
    candidates = (cell for cell in cells if cell.cell_type == "code" and not cell.tag and cell.source)
    return [cell for cell in candidates if len(cell.source) <= MAX_SOURCE and name in bound_names(cell.source)]


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
    source = source.replace("\r\n", "\n").replace("\r", "\n") if isinstance(source, str) else None
    return Submitted(str(cell.get("id")), str(cell.get("cell_type")), source, tag)


def match(cells: list[Submitted], names: list[str]) -> dict[str, list[Submitted]]:
    """The cells for each name: those with this tag, else those with this cell id and no other cell's tag."""
    known = set(names)
    matches = {}
    for name in names:
        tagged = [cell for cell in cells if cell.tag.get("grade_id") == name]
        untagged = [cell for cell in cells if cell.name == name and not is_one_of(cell.tag.get("grade_id"), known)]
        matches[name] = tagged or untagged
    return matches


def is_one_of(value: object, known: set[str]) -> bool:
    """Whether `value`, which may be of any type, is one of `known`."""
    return isinstance(value, str) and value in known


def moved(cells: list[Submitted], names: list[str]) -> list[str]:
    """Those of `names` that are out of order among the cells."""
    known = set(names)
    tags = [cell.tag["grade_id"] for cell in cells if is_one_of(cell.tag.get("grade_id"), known)]
    actual = [*dict.fromkeys(tags)]
    expected = [name for name in names if name in actual]
    blocks = SequenceMatcher(None, expected, actual, autojunk=False).get_matching_blocks()
    in_order = {name for block in blocks for name in expected[block.a : block.a + block.size]}
    return [name for name in expected if name not in in_order]


def foreign(cells: list[Submitted]) -> str:
    """The problem with a notebook that has none of the lab's cells."""
    tags = [cell.tag for cell in cells if isinstance(cell.tag.get("grade_id"), str)]
    theirs = [tag["grade_id"] for tag in tags if tag.get("solution") is True] or [tag["grade_id"] for tag in tags]
    if not theirs:
        return "the notebook has none of this lab's cells"
    named = ", ".join(quoted(name) for name in theirs[:3])
    return f"the notebook is for another lab: its cells are {named}{' and so on' if len(theirs) > 3 else ''}"


def same_text(text: str | None, other: str) -> bool:
    """Whether two cells' texts are the same except for white space at the ends."""
    return text is not None and text.strip() == other.strip()


def total(notebook: NotebookNode) -> str:
    """The points of all the notebook's checks."""
    tags = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return f"{sum(tag['points'] for tag in tags if tag.get('grade')):g}"
