"""A course's folder on a hub: what its instructors type there, and what they may break. No hub runs here."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_system import packages_that_the_readme_names
from labs_under_test import OURS
from nbgrader.api import Gradebook
from small_course import LAB, make_course

from autograde.making.bundle import FILES
from course.jupyterhub.__main__ import prepare_course
from course.jupyterhub.courses import Course
from course.jupyterhub.place import FOR_ALL, LINKS, REPOSITORY, Place, close_clone
from course.jupyterhub.roster.gradebooks import enrol_new
from course.lab_choice import Choice


@pytest.fixture
def folder(tmp_path) -> Path:
    """A course's folder with the links that a hub puts there."""
    root = make_course(tmp_path / "course")
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    return root


def typed(folder: Path, command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a terminal on the hub answers, whose environment knows nothing of the course or of our programs."""
    known = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return subprocess.run(["bash", "-c", command], cwd=cwd or folder, env=known, capture_output=True, text=True)


def test_its_command_works_on_the_course_in_the_environment_of_the_hub(folder):
    said = typed(folder, f"source .venv/bin/activate && which nbgrader && ./lockstep new {LAB}")
    assert said.stdout == f"{sys.prefix}/bin/nbgrader\n"
    assert said.stderr == f"Error: {folder}/solutions/{LAB} is there already; choose another name\n"
    said = typed(folder, "./lockstep lab")
    assert said.returncode == 2 and said.stderr.startswith("lockstep: `lab` is for a clone") and not said.stdout


def test_its_command_imports_nothing_that_was_handed_in(folder):
    handed_in = folder / "class" / "submitted" / "eve" / LAB
    handed_in.mkdir(parents=True)
    for name in ("autograde", "click"):
        (handed_in / f"{name}.py").write_text("raise SystemExit('I am the grader now')")
    said = typed(folder, f"{folder}/lockstep extend --help", cwd=handed_in)
    assert said.returncode == 0 and "Give one STUDENT more time" in said.stdout, said


def test_the_clone_keeps_its_answers_and_gives_what_a_bundle_is_made_of(tmp_path):
    names = {"solutions": 0o755, "tests": 0o755, "README.md": 0o644, "LICENSE": 0o600, "lockstep": 0o700}
    for name, mode in names.items():
        (tmp_path / name).mkdir() if mode == 0o755 else (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    close_clone(tmp_path)
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in names}
    assert modes == {"solutions": 0o700, "tests": 0o700, "README.md": 0o600, "LICENSE": 0o644, "lockstep": 0o755}
    assert {*FILES} <= {*FOR_ALL}


def test_the_packages_of_a_hubs_machine_have_the_programs_that_its_page_uses():
    text = (REPOSITORY / "docs" / "admins.md").read_text()
    named = re.search(r"sudo apt install (.+)", text)[1].split()
    assert {*packages_that_the_readme_names()} < {*named}
    assert ("setfacl" in text) == ("acl" in named)


@pytest.mark.thorough
def test_what_instructors_broke_in_their_course_keeps_no_hub_from_starting(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("os.geteuid", lambda: 65534)  # as a hub without root, which needs no accounts
    place, course = Place(tmp_path / "hub"), Course("hpc", ("iris",), ("ada",), Choice((OURS[0].name,)))
    place.make()
    prepare_course(place, course)
    assert capsys.readouterr().out == ""
    (place.course(course) / "course.toml").write_text("labs = [")
    prepare_course(place, course)
    said = capsys.readouterr().out
    assert said.startswith("hpc: to be mended by its instructors: Error: ") and "course.toml cannot be read" in said


def test_who_is_added_in_mid_term_is_in_the_gradebook_and_the_universitys_list_finds_them_there(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("os.geteuid", lambda: 65534)  # as a hub without root, which needs no accounts
    caplog.set_level(logging.INFO)
    place, course = Place(tmp_path / "hub"), Course("hpc", ("iris",), ("ada",))
    place.make()
    (place.course(course) / "solutions").mkdir(parents=True)
    place.enrol(course, course.students)
    assert enrol_new(place, course) and not caplog.messages, "as after a start of the hub"

    course = Course("hpc", ("iris",), ("ada", "eve"))
    assert enrol_new(place, course) and caplog.messages == ["hpc: in the gradebook: eve"]
    (tmp_path / "list.csv").write_text("id,name\nada,Ada\neve,Eve Adams\n")
    enrolled = typed(
        place.course(course), f"LOCKSTEP_COURSE=$PWD {sys.executable} -m autograde enrol --students ../../../list.csv"
    )
    assert "2 on the list, 0 of them new" in enrolled.stdout, enrolled
    with Gradebook(f"sqlite:///{place.course(course)}/class/gradebook.db") as gradebook:
        assert {one.id: one.last_name for one in gradebook.students} == {"ada": "Ada", "eve": "Adams"}

    # Who comes back is looked for again: the instructors may have taken them out.
    for students in (("ada",), ("ada", "eve")):
        assert enrol_new(place, Course("hpc", (), students))
    assert caplog.messages == ["hpc: in the gradebook: eve"] * 2

    # What does not work is told, and is no end of it.
    (place.course(course) / "course.toml").write_text("labs = [")
    assert not enrol_new(place, Course("hpc", (), ("ada", "eve", "bob")))
    assert "hpc: perhaps not in the gradebook: bob: " in caplog.messages[-1]
    assert "`./lockstep enrol bob`" in caplog.messages[-1] and place.enrolled(course) == {"ada", "eve"}
    assert enrol_new(place, Course("new", (), ("ada",))), "a course that the hub's next start makes"
