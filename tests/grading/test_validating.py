"""`nbgrader validate` checks the text that grading takes, wherever in the notebook it is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from classroom import Classroom
from nbformat import NotebookNode
from small_course import ANSWERS, LAB, make_course

from autograde.classroom.submissions.rebuild import rebuild
from autograde.classroom.submissions.submission import answers
from autograde.labs.folder import find_lab
from autograde.making.build import instructor_notebook, release
from autograde.validating import TooLarge, handed_in
from course.exchange.limits import MAX_NOTEBOOK

WRONG = "def double(x):\n    return 3 * x"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The lab as students get it."""
    return release(instructor_notebook(find_lab(make_course(tmp_path_factory.mktemp("course")), LAB)))


def own(notebook: NotebookNode) -> int:
    """Where the TODO's cell is."""
    return next(number for number, cell in enumerate(notebook.cells) if cell.id == "double")


def with_copy(notebook: NotebookNode, upper: str, lower: str = ANSWERS["double"]) -> None:
    """A cell with the TODO's tag below it, and these texts in both."""
    mine = notebook.cells[own(notebook)]
    notebook.cells.insert(own(notebook) + 1, NotebookNode({**copy.deepcopy(mine), "id": "a1b2", "source": lower}))
    mine.source = upper


def merged(notebook: NotebookNode) -> None:
    """Both TODOs in the first one's cell."""
    notebook.cells[own(notebook)].source = "\n\n".join(ANSWERS.values())
    notebook.cells = [cell for cell in notebook.cells if cell.id != "total"]


def below(notebook: NotebookNode, source: str) -> None:
    """A new cell below the TODO's."""
    notebook.cells.insert(own(notebook) + 1, nbformat.v4.new_code_cell(source))


def moved_below(notebook: NotebookNode, stub: str) -> None:
    """The answer in a new cell, and the TODO's own as it was."""
    below(notebook, ANSWERS["double"])
    notebook.cells[own(notebook)].source = stub


DONE: dict[str, Callable[[NotebookNode], None]] = {
    "as it should be": lambda notebook: None,
    "tried in the lower half": lambda notebook: with_copy(notebook, ANSWERS["double"], "double(3)"),
    "split above the function": lambda notebook: with_copy(notebook, "HALF = 2", "def double(x):\n    return HALF * x"),
    "a wrong copy above": lambda notebook: with_copy(notebook, WRONG),
    "merged": merged,
    "other tries below": lambda notebook: below(notebook, "double = 3"),
}


@pytest.mark.parametrize("what", [*DONE, "in a new cell"])
def test_what_is_validated_is_what_is_graded(tmp_path, released, what):
    notebook = copy.deepcopy(released)
    for cell in notebook.cells:
        cell.source = ANSWERS.get(cell.id, cell.source)
    if what in DONE:
        DONE[what](notebook)
    else:
        moved_below(notebook, released.cells[own(released)].source)
    raw = json.dumps(notebook)
    (tmp_path / "lab.ipynb").write_text(raw)
    (tmp_path / "blank.ipynb").write_text(json.dumps(released))
    ran = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    graded, blank = answers(rebuild(released, raw.encode(), LAB).notebook)
    assert not blank
    for todo, source in graded.items():
        assert handed_in(tmp_path, todo, list(ANSWERS), ["", *ran]) == source


def test_of_another_notebook_nothing_is_taken(tmp_path, released):
    (tmp_path / "lab.ipynb").write_text(json.dumps(released))
    (tmp_path / "broken.ipynb").write_text("{")
    assert handed_in(tmp_path, "double", list(ANSWERS), ["x = 1"]) is None


def test_what_is_too_large_to_be_handed_in_is_told_when_it_is_validated(tmp_path, released):
    path = tmp_path / f"{tmp_path.name}.ipynb"
    path.write_text(json.dumps(released).ljust(MAX_NOTEBOOK + 1))
    with pytest.raises(TooLarge, match=r"has 32\.1 MB, and a notebook .* has 32 MB at most\. In JupyterLab"):
        handed_in(tmp_path, "double", list(ANSWERS), ["x = 1"])


def validated(room: Classroom, notebook: NotebookNode, size: int = 0) -> str:
    """What `nbgrader validate` says of a notebook in the lab's folder. size: in bytes, at least."""
    path = Path(room.root, "labs", LAB, f"{LAB}.ipynb")
    path.write_text(nbformat.writes(notebook).ljust(size))
    done = room.nbgrader("validate", str(path))
    return done.stdout + done.stderr


@pytest.mark.thorough
def test_nbgrader_validates_a_notebook_with_several_cells_for_a_todo(tmp_path):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    split, other = room.answered(ANSWERS), room.answered(ANSWERS | {"double": WRONG})
    with_copy(split, "HALF = 2", "def double(x):\n    return HALF * x")
    assert "2 of 2 checks pass, 5 of 5 points." in validated(room, split)
    below(other, ANSWERS["double"])
    said = validated(room, other)
    assert "VALIDATION FAILED ON 1 CELL(S)!" in said and "[not-double, -2]" in said, said
    said = validated(room, split, MAX_NOTEBOOK + 1)
    assert "VALIDATION FAILED ON 2 CELL(S)!" in said and "has 32.1 MB, and a notebook" in said, said
