"""What is released is made from the lab's source: nothing that somebody did in `labs/` goes to students."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from classroom import REPOSITORY, Classroom
from nbgrader.apps.api import NbGraderAPI
from small_course import ANSWERS, LAB

from autograde.classroom.nbgrader_course import Course
from autograde.classroom.release.old_text import as_released
from autograde.labs.folder import find_lab
from autograde.lectures.notebooks import FOLDER
from autograde.lectures.site import stage
from autograde.making.build import build
from autograde.making.bundle import bundle_files


@pytest.fixture
def room(small: Classroom) -> Classroom:
    """A course whose lab somebody has solved in labs/, with outputs, hints and a file beside it."""
    solve(small.root / "labs" / LAB / f"{LAB}.ipynb")
    (small.root / "labs" / LAB / "hints_taken.json").write_text('{"double": 3}')
    return small


def solve(path: Path) -> None:
    """Put answers and outputs into a released notebook."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = ANSWERS.get(cell.id, cell.source)
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", text="Passed.")]
    nbformat.write(notebook, path)


def released(room: Classroom, lab: str = LAB) -> dict[str, bytes]:
    """What students would fetch, by path in the lab's folder."""
    folder = room.exchange / "lockstep" / "outbound" / lab
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def in_the_formgrader(room: Classroom, lab: str = LAB) -> tuple[bool, str]:
    """Press the formgrader's button: whether it succeeded, and what is logged."""
    assert room.environment  # which writes the configuration
    course = Course(room.root)
    course.config.Exchange.root = str(room.exchange)
    done = NbGraderAPI(coursedir=course.directory, config=course.config).release_assignment(lab)
    return done["success"], done["log"]


def by_nbgraders_command(room: Classroom, lab: str = LAB) -> tuple[bool, str]:
    """Release as README says."""
    done = room.nbgrader("release_assignment", lab)
    return done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", [in_the_formgrader, pytest.param(by_nbgraders_command, marks=pytest.mark.thorough)])
def test_work_in_labs_is_not_released_and_stays(room, way: Callable[[Classroom], tuple[bool, str]]):
    work = (room.root / "labs" / LAB / f"{LAB}.ipynb").read_bytes()
    succeeded, said = way(room)
    assert succeeded, said
    made = as_released(build(find_lab(room.root, LAB)))
    assert released(room) == {name: file.content for name, file in made.items()}
    assert "has work in cell double, total: it stays there" in said
    assert "hints_taken.json is not released, as `lockstep build` does not make it" in said
    assert (room.root / "labs" / LAB / f"{LAB}.ipynb").read_bytes() == work


def test_a_bundle_and_the_site_have_no_work_of_labs(room):
    lab = find_lab(room.root, LAB)
    made = build(lab).student
    bundled = {name.partition("/")[2]: file for name, file in bundle_files(lab, None).items() if name.startswith(LAB)}
    assert bundled == made
    folder = room.root / FOLDER
    shutil.copytree(REPOSITORY / FOLDER / "static", folder / "static")
    for name in ("conf.py", "index.md"):
        shutil.copy(REPOSITORY / FOLDER / name, folder)
    assert (stage(room.root, [], {}) / "labs" / LAB / lab.notebook).read_bytes() == made[lab.notebook].content


def test_an_assignment_without_a_source_is_not_released_with_work_in_it(room):
    labs = room.root / "labs"
    (labs / LAB).rename(labs / "old")
    (labs / "old" / f"{LAB}.ipynb").rename(labs / "old" / "old.ipynb")
    succeeded, said = in_the_formgrader(room, "old")
    assert not succeeded and "has work in cell double, total, which students would get" in said
    assert released(room, "old") == {}


def test_a_lab_that_cannot_be_built_is_not_released(room):
    (room.root / "solutions" / LAB / "checks" / "double.py").unlink()
    succeeded, said = in_the_formgrader(room)
    assert not succeeded and f"{LAB}: TODO `double` has no checks/double.py" in said
    assert released(room) == {}
