"""The marker of a cell in lab.py, such as `# %% todo="total"`: what it says, and nbgrader's metadata made from it;
and whether the markers of a lab fit its checks."""

from __future__ import annotations

import re

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograde.labs import questions
from autograde.labs.folder import Lab, LabError
from autograde.labs.source import SourceCell
from course.lab_archive import QUESTIONS

WIDTH = 88  # characters of a line of code that JupyterLab shows without cutting or wrapping it
NO_POINTS = "They count no points."  # what labs say of their questions


def answer_marks(cell: SourceCell, where: str) -> tuple[str | None, float]:
    """The `answer` and the `points` in the marker of a question's cell. Raises LabError.

    The answer in a code cell is a number, and counts no points; that in a Markdown cell is a text, graded by hand.
    """
    answer, text = cell.marker.get("answer"), cell.kind == "markdown"
    if answer is None:
        return None, 0
    if not (isinstance(answer, str) and answer.isidentifier() and answer.isascii()):
        raise LabError(f"{where}: {answer!r} cannot be the name of an answer")
    points = cell.marker.get("points", 0) if text else 0
    if not isinstance(points, int | float) or not points >= 0:
        raise LabError(f"{where}: `{answer}` is worth {points!r} points; it must be 0 or more")
    if not text and cell.source != questions.blank(answer):
        raise LabError(f"{where}: the cell of answer `{answer}` must be: {questions.blank(answer)}")
    return answer, points


def tell_points(notebook: NotebookNode) -> None:
    """Where a text counts points, say so in place of the labs' sentence that their questions count none."""
    tags = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    texts = [tag["points"] for tag in tags if tag.get("grade") and tag["solution"] and tag["points"]]
    for cell in notebook.cells if texts else ():
        told = f"The number counts no points; the text counts {' and '.join(f'{points:g}' for points in texts)}."
        cell.source = cell.source.replace(NO_POINTS, told)


def marks(cell: SourceCell, where: str) -> tuple[str | None, str | None, dict]:
    """The `todo` and `check` in a cell's marker, and Jupyter's metadata for its `tags`, `folded` and `editable`.

    Raises LabError for anything else in it.
    """
    metadata = dict(cell.marker)
    if metadata.pop("answer", None) is not None and cell.kind == "markdown":
        metadata.pop("points", None)
    names = ("todo", "check", "tags", "folded", "editable")
    todo, check, tags, folded, editable = (metadata.pop(key, None) for key in names)
    if metadata:
        known = "todo, check, answer, tags, folded and editable"
        raise LabError(f"{where}: `{next(iter(metadata))}` in its marker means nothing; known are {known}")
    if folded is not None and (folded is not True or todo or check or cell.kind != "code"):
        raise LabError(f"{where}: `folded=true` is for code cells, and neither for a TODO nor for a check")
    if editable is not None and (editable is not True or todo or check or folded or cell.kind != "code"):
        raise LabError(f"{where}: `editable=true` is for given code cells: no TODO, no check, and not folded")
    if folded and not cell.source.startswith("# "):
        raise LabError(f"{where}: a folded cell begins with a comment that says what it shows: that is all one sees")
    if todo and check:
        raise LabError(f"{where}: it cannot be TODO and check at once")
    name = todo or check
    if name is not None and not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        raise LabError(f"{where}: {name!r} cannot be the name of a function or class")
    if name and cell.kind != "code":
        raise LabError(f"{where}: `{name}` must be a code cell")
    shown = ({"tags": tags} if tags else {}) | ({"editable": True} if editable else {})
    return todo, check, shown | ({"jupyter": {"source_hidden": True}} if folded else {})


def grading_metadata(name: str, solution: bool, points: float | None, locked: bool | None = None) -> dict:
    """nbgrader's metadata for a cell: a solution, a graded check, both (an answer graded by hand), or neither.

    locked: None: unless it is a solution.
    """
    metadata = {
        "grade": points is not None,
        "grade_id": name,
        "locked": not solution if locked is None else locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return metadata if points is None else metadata | {"points": points}


def untouched(cell: NotebookNode, tag: dict) -> bool:
    """Whether a student's cell is as it was released. nbgrader gives no checksum to that of a number."""
    if questions.is_number(tag):
        return cell.source == questions.blank(tag["grade_id"])
    return tag.get("checksum") == compute_checksum(cell)


def validate(lab: Lab, notebook: NotebookNode, points: dict[str, float]) -> None:
    """Raise LabError if TODO cells, check cells and checks do not match. points: of each check, by its TODO."""
    names = [cell.id for cell in notebook.cells]
    tags = {cell.id: cell.metadata.get("nbgrader", {}) for cell in notebook.cells}
    todos = [name for name, tag in tags.items() if questions.is_todo(tag)]
    numbers = {name for name, tag in tags.items() if questions.is_number(tag)}
    for name in sorted(numbers ^ set(questions.read_questions(lab.folder))):
        missing = f"table [{name}] in {QUESTIONS}" if name in numbers else f'cell `# %% answer="{name}"`'
        raise LabError(f"{lab.name}: question `{name}` has no {missing}")
    checked = [name.removesuffix("-check") for name in names if name.endswith("-check")]
    for todo in todos:
        if todo not in points:
            raise LabError(f"{lab.name}: TODO `{todo}` has no checks/{todo}.py")
        if todo not in checked:
            raise LabError(f'{lab.name}: TODO `{todo}` has no check: add a cell `# %% check="{todo}"` after it')
        if names.index(f"{todo}-check") < names.index(todo):
            raise LabError(f"{lab.name}: the check of `{todo}` stands before the TODO")
    for name in checked:
        if name not in todos:
            raise LabError(f'{lab.name}: check `{name}` has no TODO: there is no cell `# %% todo="{name}"`')
    for name in points:
        if name not in todos:
            raise LabError(f'{lab.name}: there is checks/{name}.py, but no cell `# %% todo="{name}"`')
        if not points[name] > 0:
            raise LabError(f"{lab.name}: check `{name}` is worth {points[name]} points; it must be more than 0")
    for cell in notebook.cells:
        begins, ends = (len(re.findall(rf"{mark} SOLUTION", cell.source)) for mark in ("BEGIN", "END"))
        if cell.id in todos and not begins:
            raise LabError(f"{lab.name}: TODO `{cell.id}` has no line `### BEGIN SOLUTION`")
        if cell.id not in todos and begins + ends:
            raise LabError(f"{lab.name}: cell `{cell.id}` has a SOLUTION mark, but is no TODO: students would get it")
        if begins != ends:
            raise LabError(f"{lab.name}: TODO `{cell.id}` has {begins} BEGIN SOLUTION and {ends} END SOLUTION")


def wide_lines(notebook: str) -> list[str]:
    """One line of text for each line of code that is wider than JupyterLab shows it. notebook: text of its file."""
    return [
        f"cell `{cell.id}` has a line of {len(line)} characters, and JupyterLab shows {WIDTH}: {line.strip()[:40]}..."
        for cell in nbformat.reads(notebook, as_version=4).cells
        for line in cell.source.splitlines() * (cell.cell_type == "code")
        if len(line) > WIDTH
    ]
