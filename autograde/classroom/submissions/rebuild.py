"""Rebuilds the notebook to grade: the released one, with only the source text of the student's own cells put in.

A submission is not trusted, and nothing of it is run here. It is read as JSON, and the text of the TODOs' cells is
taken, with the pictures of answers in words. Everything else (tags, outputs, other cells, their order) has no effect.
Each problem is named in one sentence.

Policies, each for a mishap that happens to honest people:

- Which cells count as a TODO is what `autograde.cells.handed_in` says.
- Several cells of one answer in words are its parts: all that was written in them is read, in their order.
- A missing cell is put back blank, and earns nothing. So does a cell whose text cannot be read.
- A notebook that is missing or unreadable is graded as blank, and marked for manual grading, as it may hold work.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from nbformat import NotebookNode, from_dict

from autograde.cells.handed_in import (
    MAX_SOURCE,
    Chosen,
    Submitted,
    choose,
    match,
    read_cells,
    same_text,
)
from autograde.classroom.submissions.attachments import pictures_of
from autograde.contract.show import quoted
from autograde.labs.questions import is_text, is_todo
from course.files import Unreadable
from course.overview.cells import is_one_of

PROBLEMS = "submission-problems"  # the cell at the top of what is graded that names them
MOST_NAMED = 5  # other notebooks that are named
MOST_PARTS = 50  # cells of one answer in words


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


def rebuild(released: NotebookNode, raw: bytes | Unreadable | None, lab: str, others: tuple[str, ...] = ()) -> Rebuilt:
    """Put the student's text into a copy of `released`. Raises nothing for what is in `raw`.

    released: the lab's notebook as students got it. raw: the file that was handed in; None if there is none;
    Unreadable, which says why, if it must not be read.
    lab: the lab's name, with which each problem begins. others: other notebooks that were handed in, by file name.
    """
    rebuilt = Rebuilt(copy.deepcopy(released))
    if raw is None:
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        found = f"; handed in: {', '.join(quoted(name) for name in others[:MOST_NAMED])}{more}" if others else ""
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
    todos = [name for name, cell in wanted.items() if is_todo(cell.metadata.nbgrader)]
    chosen = {
        name: choice(cell, cells, matches[name], todos)
        for name, cell in wanted.items()
        if not cell.metadata.nbgrader.locked
    }
    if not any(chosen[name] for name, cell in wanted.items() if cell.metadata.nbgrader.solution):
        rebuilt.problems = [f"{lab}: {foreign(cells)}; 0 of {total(released)} points"]
        return rebuilt
    points = {name: cell.metadata.nbgrader.get("points", 0) for name, cell in wanted.items()}
    for name, cell in wanted.items():
        if name in chosen:
            worth = points.get(f"{name}-check", points[name])
            problems = put_in(cell, chosen[name], len(matches[name]), worth)
        elif not cell.metadata.nbgrader.grade or any(unchanged(found, cell) for found in matches[name]):
            problems = []
        else:
            change = "was changed" if matches[name] else "is missing"
            problems = [f"cell `{name}` {change}; the lab's own is used"]
        rebuilt.problems += [f"{lab}: {sentence}" for sentence in problems]
    for name in moved(cells, [*chosen]):
        rebuilt.problems.append(f"{lab}: cell `{name}` was moved; it is graded in its own place")
    return rebuilt


def choice(wanted: NotebookNode, cells: list[Submitted], own: list[Submitted], todos: Collection[str]) -> Chosen | None:
    """What counts as the cell `wanted`, which is as released. own: those of `cells` that are it. todos: of the lab."""
    if wanted.id in todos:
        return choose(wanted.id, cells, own, lambda cell: same_text(cell.source, wanted.source), todos)
    if not own:
        return None
    written = [cell for cell in own if cell.source is not None and not same_text(cell.source, wanted.source)]
    if not is_text(wanted.metadata.nbgrader) or not written:
        return Chosen((written or own)[-1], [])
    return Chosen(written[-1], parts_of_text(written))


def parts_of_text(written: list[Submitted]) -> list[Submitted]:
    """The cells of an answer in words without those that a later one says again, such as an earlier draft's copy."""
    written = written[-MOST_PARTS:]
    return [
        cell for index, cell in enumerate(written) if not any(says_again(later, cell) for later in written[index + 1 :])
    ]


def says_again(later: Submitted, cell: Submitted) -> bool:
    """Whether all that an answer's cell has, text and pictures, is in a later one."""
    mine, other = (each.attachments if isinstance(each.attachments, dict) else {} for each in (cell, later))
    return cell.source.strip() in later.source and all(other.get(name) == mine[name] for name in mine)


def put_in(cell: NotebookNode, chosen: Chosen | None, copies: int, points: float) -> list[str]:
    """Put the text that was chosen for `cell` into it. copies: cells that have its tag. Returns the problems."""
    name, tag = cell.id, cell.metadata.nbgrader
    earns = f", 0 of {points:g} points" if points else ""
    if not chosen:
        return [f"cell `{name}` is missing; it is put back empty{earns}"]
    problems, found = [], chosen.main
    if chosen.elsewhere and len(chosen.parts) > 1:
        problems.append(f"cell `{name}` does not define `{name}`; it and the cell that does are graded together")
    elif len(chosen.parts) > 1:
        problems.append(f"cell `{name}` was split into {len(chosen.parts)}; they are graded together, in their order")
    elif copies > 1 and not chosen.elsewhere:
        problems.append(f"cell `{name}` is there {copies} times; the last one that was written in is graded")
    if chosen.elsewhere and len(chosen.parts) < 2:
        problems.append(f"cell `{name}` is missing or not done; another cell that defines it is graded in its place")
    elif not chosen.elsewhere and found.tag.get("grade_id") != name:
        problems.append(f"cell `{name}` has lost its nbgrader tag; it was found by its cell id, and is graded")
    elif (
        not chosen.elsewhere
        and of_this_release(found, cell)
        and (
            any(found.tag.get(key) != tag[key] for key in ("grade", "locked", "solution"))
            or found.tag.get("points") != tag.get("points")
        )
    ):
        problems.append(f"cell `{name}` was retagged; the tags have no effect")
    if found.cell_type != cell.cell_type:
        turned = f"was turned into a {quoted(found.cell_type)} cell; its text is graded as {cell.cell_type}"
        problems.append(f"cell `{name}` {turned}")
    if chosen.source is None:
        return [*problems, f"cell `{name}` has no readable text; it is put back empty{earns}"]
    source = chosen.source
    if cell.cell_type == "markdown":
        source, attachments, wrong = pictures_of(chosen.parts or [found])
        problems += [f"cell `{name}`: {each}" for each in wrong]
        cell.pop("attachments", None)
        if attachments:
            cell.attachments = from_dict(attachments)
    if len(source) > MAX_SOURCE and is_text(tag):
        problems.append(f"cell `{name}` has {len(source):,} characters; it is cut off after {MAX_SOURCE:,}")
        source = source[:MAX_SOURCE]
    if len(source) > MAX_SOURCE:
        size = f"{len(source):,} characters, more than {MAX_SOURCE:,}"
        return [*problems, f"cell `{name}` has {size}; it is put back empty{earns}"]
    text = source.encode("utf-8", "replace").decode()  # JSON can carry half a surrogate pair, a file cannot
    if text != source:
        problems.append(f"cell `{name}` has characters that are no text; they are replaced by ?")
    cell.source = text
    return problems


def of_this_release(found: Submitted, cell: NotebookNode) -> bool:
    """Whether a student has `cell` as it is released now, by the checksum that nbgrader gave it. What differs in one of
    an earlier release may be the lab's own change."""
    return found.tag.get("checksum") == cell.metadata.nbgrader.get("checksum")


def unchanged(found: Submitted, cell: NotebookNode) -> bool:
    """Whether a student's cell has the text of the lab's, or is not of this release."""
    return same_text(found.source, cell.source) or not of_this_release(found, cell)


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


def total(notebook: NotebookNode) -> str:
    """The points of all the notebook's checks."""
    tags = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return f"{sum(tag['points'] for tag in tags if tag.get('grade')):g}"
