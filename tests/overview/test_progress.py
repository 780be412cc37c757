"""How far a student is with each lab and lecture, read from saved notebooks."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from classroom import REPOSITORY
from example_labs import labs_with, todos_of

from course.overview import RESULT
from course.overview.course_map import PAGE, local_overview
from course.overview.entries import lab_entries, look_at
from course.overview.pages import pages
from course.overview.progress import Progress

LABS = labs_with(2, "of at least two TODOs", lambda lab: len(todos_of(lab)) > 1)
LAB, OTHER = (lab.name for lab in LABS)


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """A lab as a student gets it, below the folder that JupyterLab shows."""
    (tmp_path / "labs" / LAB).mkdir(parents=True)
    for name in (f"{LAB}.ipynb", "picture.png"):
        shutil.copy(REPOSITORY / "labs" / LAB / name, tmp_path / "labs" / LAB)
    shutil.copy(REPOSITORY / "labs" / "README.md", tmp_path / "labs")
    return tmp_path / "labs" / LAB / f"{LAB}.ipynb"


def progress(notebook: Path) -> Progress:
    """How far the student is with a notebook."""
    return look_at(notebook)[1]


def page_of(root: Path, base_url: str = "/") -> str:
    """The map of what is below a server's root."""
    return pages().get_template(PAGE).render(overview=local_overview(root), base_url=base_url)


def say(notebook: Path, passed: dict[str, bool]) -> None:
    """Put what checks of these TODOs say below them, as JupyterLab saves it."""
    written = nbformat.read(notebook, as_version=4)
    for cell in written.cells:
        if (todo := cell.id.removesuffix("-check")) in passed and todo != cell.id:
            said = {"text/plain": f"{todo}: ..."}
            result = {RESULT: {"passed": passed[todo]}}
            cell.outputs = [nbformat.v4.new_output("display_data", said, metadata=result)]
    nbformat.write(written, notebook)


def test_a_lab_goes_from_not_begun_to_all_passed(notebook):
    assert progress(notebook).words == "not begun"
    written = nbformat.read(notebook, as_version=4)
    answer = next(cell for cell in written.cells if cell.id == todos_of(LABS[0])[0])
    answer.source = answer.source.replace("raise NotImplementedError", "return 0.0")
    nbformat.write(written, notebook)
    assert progress(notebook).words == "begun"
    todos = [cell.id.removesuffix("-check") for cell in written.cells if cell.id.endswith("-check")]
    say(notebook, {todos[0]: True, todos[1]: False})
    assert (progress(notebook).words, progress(notebook).done) == (f"passed 1 of {len(todos)}", False)
    say(notebook, dict.fromkeys(todos, True))
    assert progress(notebook).done


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [3]}', b"\xff\xfe"])
def test_a_damaged_notebook_is_named_with_the_next_step(notebook, damage):
    notebook.write_bytes(damage)
    page = page_of(notebook.parents[2])
    assert f"{LAB}.ipynb cannot be read: it is" in page
    assert "Get it again" in page


def test_labs_stand_in_the_maps_order_and_one_of_ones_own_after_them(notebook):
    root = notebook.parents[2]
    (root / "labs" / "99_mine").mkdir()
    nbformat.write(nbformat.v4.new_notebook(), root / "labs" / "99_mine" / "99_mine.ipynb")
    entries = lab_entries(root, "labs", ())
    assert [one.name for one in entries][-1] == "99_mine"
    assert [one.name for one in entries] == sorted(one.name for one in entries)
    by_name = {one.name: one for one in entries}
    assert by_name[LAB].path == f"labs/{LAB}/{LAB}.ipynb" and by_name[LAB].minutes and by_name[LAB].idea
    assert by_name[OTHER].progress.words == f"the folder labs/{OTHER} is missing"


def test_the_page_has_each_lab_and_lecture_of_the_course_below_the_servers_path(tmp_path):
    (tmp_path / "course").mkdir()
    (tmp_path / "labs").symlink_to(REPOSITORY / "labs")
    (tmp_path / "course" / "lectures").symlink_to(REPOSITORY / "course" / "lectures")
    overview = local_overview(tmp_path)
    assert len(overview.labs) == len([*(REPOSITORY / "solutions").glob("[0-9]*/lab.py")])
    assert len(overview.lectures) == len([*(REPOSITORY / "course" / "lectures").glob("[0-9]*.md")])
    assert all(one.title and one.minutes and one.idea and one.path for one in [*overview.labs, *overview.lectures])
    assert all(one.lecture for one in overview.labs)
    page = page_of(tmp_path, "/user/ada/")
    assert f'href="/user/ada/lab/tree/labs/{LAB}/{LAB}.ipynb"' in page


def test_a_folder_without_labs_says_what_makes_them(tmp_path):
    assert "./lockstep build" in page_of(tmp_path)
