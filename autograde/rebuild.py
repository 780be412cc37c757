"""What is graded: the released notebook with only the source text of the student's own cells put in.

A submission is bytes that somebody else wrote. Nothing of it is run or believed here: it is read as JSON, the text of
the cells that belong to TODOs is taken, and all else (tags, outputs, other cells, their order) has no effect. What is
not as it should be is named in one sentence each.

Policies, each for a mishap that happens to honest people:

- A cell is found by its nbgrader tag; where no cell has that tag, by its cell id, which survives a cleared tag.
- Of several cells with one tag, the last that was written in is graded, as it is the one that counts when a notebook is
  run from top to bottom (nbgrader, too, keeps the last). A copy that is still blank does not hide a written one.
- A missing cell is put back blank, and earns nothing. So does a cell whose text cannot be read.
- A notebook that is missing or not readable is graded as blank, and marked for manual grading, as it may hold work.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from nbformat import NotebookNode

# Longest text of one cell that is graded, in characters. The longest solution is a tenth of it.
MAX_SOURCE = 100_000
# Most cells that are looked at, and most other notebooks that are named.
MAX_CELLS = 10_000
MAX_OTHERS = 5


@dataclass
class Rebuilt:
    """A notebook to grade.

    notebook: the released one, with the student's text in its solution cells.
    problems: what was wrong with the submission, one sentence each.
    manual: why a person has to look at it, if so.
    """

    notebook: NotebookNode
    problems: list[str] = field(default_factory=list)
    manual: str | None = None


@dataclass(frozen=True)
class Submitted:
    """One cell of a submission, in so far as it is of use. `source` is None where it has no readable text."""

    name: str
    cell_type: str
    source: str | None
    tag: dict


class Unreadable(Exception):
    """The file is no notebook. The message ends a sentence that begins with its name."""


def rebuild(released: NotebookNode, raw: bytes | Unreadable | None, lab: str, others: tuple[str, ...] = ()) -> Rebuilt:
    """Put the student's text into a copy of `released`. Never raises for what is in `raw`.

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
    if not any(matches[name] for name, cell in wanted.items() if cell.metadata.nbgrader.solution):
        rebuilt.problems = [f"{lab}: {foreign(cells)}; 0 of {total(released)} points"]
        return rebuilt
    points = {name: cell.metadata.nbgrader.points for name, cell in wanted.items() if cell.metadata.nbgrader.grade}
    for name, cell in wanted.items():
        if cell.metadata.nbgrader.solution:
            said = put_in(cell, matches[name], points[f"{name}-check"])
        elif matches[name] and any(same_text(found.source, cell.source) for found in matches[name]):
            said = []
        else:
            change = "was changed" if matches[name] else "is missing"
            said = [f"cell `{name}` {change}; the lab's own is used"] if cell.metadata.nbgrader.grade else []
        rebuilt.problems += [f"{lab}: {sentence}" for sentence in said]
    solutions = [name for name, cell in wanted.items() if cell.metadata.nbgrader.solution]
    for name in moved(cells, solutions):
        rebuilt.problems.append(f"{lab}: cell `{name}` was moved; it is graded in its own place")
    return rebuilt


def put_in(cell: NotebookNode, found: list[Submitted], points: float) -> list[str]:
    """Put the text of the cells `found` for `cell` into it. Returns what to say about them."""
    name, blank = cell.id, cell.source
    if not found:
        return [f"cell `{name}` is missing; it is put back empty, 0 of {points:g} points"]
    said = []
    written = [one for one in found if one.source is not None and not same_text(one.source, blank)]
    chosen = (written or found)[-1]
    if len(found) > 1:
        said.append(f"cell `{name}` is there {len(found)} times; the last one that was written in is graded")
    tag = cell.metadata.nbgrader
    if chosen.tag.get("grade_id") != name:
        said.append(f"cell `{name}` has lost its nbgrader tag; it was found by its cell id, and is graded")
    elif any(chosen.tag.get(key) != tag[key] for key in ("grade", "locked", "solution")) or "points" in chosen.tag:
        said.append(f"cell `{name}` was retagged; the tags have no effect")
    if chosen.cell_type != "code":
        said.append(f"cell `{name}` was turned into a {quoted(chosen.cell_type)} cell; its text is graded as code")
    if chosen.source is None:
        return [*said, f"cell `{name}` has no readable text; it is put back empty, 0 of {points:g} points"]
    if len(chosen.source) > MAX_SOURCE:
        size = f"{len(chosen.source):,} characters, more than {MAX_SOURCE:,}"
        return [*said, f"cell `{name}` has {size}; it is put back empty, 0 of {points:g} points"]
    text = chosen.source.encode("utf-8", "replace").decode()  # JSON can carry half a surrogate pair, a file cannot
    if text != chosen.source:
        said.append(f"cell `{name}` has characters that are no text; they are replaced by ?")
    cell.source = text
    return said


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
    """One cell, whatever is in it."""
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    tag = metadata.get("nbgrader") if isinstance(metadata.get("nbgrader"), dict) else {}
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    source = source.replace("\r\n", "\n").replace("\r", "\n") if isinstance(source, str) else None
    return Submitted(str(cell.get("id")), str(cell.get("cell_type")), source, tag)


def match(cells: list[Submitted], names: list[str]) -> dict[str, list[Submitted]]:
    """For each name its cells: those tagged so, else those with this cell id and no tag of another cell's."""
    known = set(names)
    matches = {}
    for name in names:
        tagged = [cell for cell in cells if cell.tag.get("grade_id") == name]
        untagged = [cell for cell in cells if cell.name == name and not is_one_of(cell.tag.get("grade_id"), known)]
        matches[name] = tagged or untagged
    return matches


def is_one_of(value: object, known: set[str]) -> bool:
    """Whether `value`, which may be anything, is one of `known`."""
    return isinstance(value, str) and value in known


def moved(cells: list[Submitted], names: list[str]) -> list[str]:
    """Which of `names` do not stand in this order among the cells."""
    known = set(names)
    there = [cell.tag["grade_id"] for cell in cells if is_one_of(cell.tag.get("grade_id"), known)]
    there = [name for position, name in enumerate(there) if name not in there[:position]]
    expected = [name for name in names if name in there]
    blocks = SequenceMatcher(None, expected, there, autojunk=False).get_matching_blocks()
    in_order = {name for block in blocks for name in expected[block.a : block.a + block.size]}
    return [name for name in expected if name not in in_order]


def foreign(cells: list[Submitted]) -> str:
    """What to say of a notebook that has none of the lab's cells."""
    tags = [cell.tag for cell in cells if isinstance(cell.tag.get("grade_id"), str)]
    theirs = [tag["grade_id"] for tag in tags if tag.get("solution") is True] or [tag["grade_id"] for tag in tags]
    if not theirs:
        return "the notebook has none of this lab's cells"
    named = ", ".join(quoted(name) for name in theirs[:3])
    return f"the notebook is for another lab: its cells are {named}{' and so on' if len(theirs) > 3 else ''}"


def same_text(one: str | None, other: str) -> bool:
    """Whether two cells' texts are the same but for space at the ends."""
    return one is not None and one.strip() == other.strip()


def quoted(text: str) -> str:
    """Text from a submission, short and harmless in HTML and on a terminal."""
    return f"`{re.sub(r'[^A-Za-z0-9_. -]', '?', text[:40])}`"


def total(notebook: NotebookNode) -> str:
    """What all the notebook's checks are worth."""
    tags = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return f"{sum(tag['points'] for tag in tags if tag.get('grade')):g}"
