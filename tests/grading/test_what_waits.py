"""`./lockstep waiting`: what waits for a course's instructors, by the exchange, the class's folder, the gradebook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC
from pathlib import Path

import pytest
from classroom import REPOSITORY, WHEN, Classroom
from nbgrader.api import Gradebook
from nbgrader.utils import notebook_hash
from small_course import LAB, make_course

from autograde.classroom.runs.progress import path_of, read, reporting
from autograde.term.waiting import in_words, waiting

LATER = "2025-01-02 10:00:00.000000 UTC"


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class on the small lab, with one answer to be read, in a gradebook; nothing is built or run."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    (room.exchange / "lockstep" / "inbound").mkdir(parents=True)
    (room.exchange / "lockstep" / "feedback").mkdir()
    (room.root / "class").mkdir(exist_ok=True)
    with room.gradebook() as gradebook:
        gradebook.add_assignment(LAB)
        gradebook.add_notebook(LAB, LAB)
        gradebook.add_grade_cell("why", LAB, LAB, max_score=2, cell_type="markdown")
        gradebook.add_grade_cell("aside", LAB, LAB, max_score=0, cell_type="markdown")
    return room


def collect(room: Classroom, student: str) -> None:
    """The student's submission is collected, with the secret of the exchange."""
    (room.put(student, b"{}") / "submission_secret.txt").write_text(f"{student}'s")


def grade(room: Classroom, student: str, read: bool) -> None:
    """The submission is graded, and its text read or not; its feedback is written."""
    for step, name in (("autograded", f"{LAB}.ipynb"), ("feedback", f"{LAB}.html")):
        folder = room.root / "class" / step / student / LAB
        folder.mkdir(parents=True)
        (folder / name).touch()
        (folder / "timestamp.txt").write_text(WHEN)
    with room.gradebook() as gradebook:
        gradebook.add_student(student)
        gradebook.add_submission(LAB, student)
        for cell in gradebook.find_submission_notebook(LAB, LAB, student).grades:
            cell.needs_manual_grade = cell.name == "aside" or not read
        gradebook.db.commit()


def release_feedback(room: Classroom, student: str) -> Path:
    """The student's feedback lies in the exchange."""
    name = notebook_hash(secret=f"{student}'s", notebook_id=LAB)
    page = room.exchange / "lockstep" / "feedback" / f"{name}.html"
    page.touch()
    return page


def test_each_submission_waits_for_its_next_step(room):
    (lab,) = waiting(room.root)
    assert str(lab) == "90_small: not released; nothing waits" and lab.title == "A small lab"
    (room.exchange / "lockstep" / "inbound" / f"zoe+{LAB}+{WHEN}+random").mkdir()  # not collected yet
    for student in ("ada", "bob", "cleo", "dora", "eve", "finn"):
        collect(room, student)
    for student in ("bob", "cleo", "dora", "eve", "finn"):
        grade(room, student, read=student != "bob")
    release_feedback(room, "dora")
    os.utime(release_feedback(room, "eve"), (0, 0))  # a comment was written since
    (room.exchange / "lockstep" / "inbound" / f"finn+{LAB}+{LATER}+random").mkdir()  # handed in again
    (lab,) = waiting(room.root)
    assert lab.to_grade == ("ada", "finn", "zoe")
    assert lab.to_read == ("bob",)
    assert lab.to_release == ("cleo", "eve") and lab.texts
    assert lab.standing == ["not released", "7 of 7 handed in", "4 graded", "feedback released to 1"]


def test_a_lab_says_whether_it_is_released_until_when_and_who_has_handed_in(room):
    outbound = room.exchange / "lockstep" / "outbound"
    (outbound / LAB).mkdir(parents=True)
    with room.gradebook() as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2026-01-31 12:00:00")
        for student in ("ada", "bob"):
            gradebook.add_student(student)
    (outbound / f".{LAB}.deadline").write_text("2026-01-31 12:00:00 UTC\n")
    (lab,) = waiting(room.root)
    due = lab.due.astimezone(UTC)
    assert (due.month, due.day, due.hour) == (1, 31, 12) and lab.due.utcoffset() is not None
    assert lab.standing == ["released", f"due {in_words(lab.due)}", "0 of 2 handed in"]
    collect(room, "bob")
    assert str(waiting(room.root)[0]).endswith("1 of 2 handed in, 0 graded; 1 to grade")
    # A deadline that is set later reaches students with the next release only.
    (outbound / f".{LAB}.deadline").unlink()
    assert "students see no deadline until it is released again" in waiting(room.root)[0].standing


def test_the_command_prints_lines_or_json_with_numbers(room):
    collect(room, "ada")
    assert room.lockstep("waiting").output == "90_small: not released, 1 of 1 handed in, 0 graded; 1 to grade\n"
    (found,) = json.loads(room.lockstep("waiting", "--json").output)
    numbers = {"handed_in": 1, "graded": 0, "given": 0, "to_grade": 1, "again": 0, "to_read": 0, "to_release": 0}
    standing = ["not released", "1 of 1 handed in", "0 graded"]
    known = {"name": LAB, "title": "A small lab", "released": False, "due": False, "standing": standing}
    assert found == known | numbers | {"texts": False, "grading": "", "changed": False, "unseen": False}


def test_the_gradebook_is_opened_once_for_all_labs(room, monkeypatch):
    opened = []
    begin = Gradebook.__init__
    monkeypatch.setattr(Gradebook, "__init__", lambda *args, **known: (opened.append(args), begin(*args, **known))[1])
    for student in ("ada", "bob"):
        collect(room, student)
        grade(room, student, read=False)
    opened.clear()
    (lab,) = waiting(room.root)
    assert lab.to_read == ("ada", "bob") and len(opened) == 1


def test_a_grading_that_is_on_is_told_and_one_that_was_killed_is_not(room):
    with reporting(room.root, LAB) as run:
        run.step("grading", 60)
        run.advance()
        (lab,) = waiting(room.root)
        assert lab.grading == "grading, 1 of 60" and str(lab).endswith("; grading, 1 of 60")
        left = path_of(room.root, LAB).read_bytes()
    assert waiting(room.root)[0].grading == ""
    path_of(room.root, LAB).write_bytes(left + b'{"since": 1, "proc')
    assert waiting(room.root)[0].grading == "" and read(room.root, LAB).ended == ""


def test_a_lab_of_ones_own_waits_with_the_others_once_course_toml_names_it(room):
    own = room.root / "solutions" / "91_own"
    own.mkdir()
    (own / "lab.py").write_text("# %% [markdown]\n# # My own lab\n")
    (room.root / "course.toml").write_text(f'labs = ["{LAB}"]\n')
    assert [lab.name for lab in waiting(room.root)] == [LAB]
    (room.root / "course.toml").write_text(f'labs = ["91_own", "{LAB}"]\n')
    assert [(lab.name, lab.title) for lab in waiting(room.root)] == [("91_own", "My own lab"), (LAB, "A small lab")]
    (room.root / "course.toml").write_text("labs = [")
    said = room.lockstep("waiting")
    assert said.exit_code == 1 and "course.toml cannot be read" in said.output and said.output.count("\n") == 1


def test_a_course_without_a_gradebook_gets_none(tmp_path, monkeypatch):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("waiting").output == "90_small: not released; nothing waits\n"
    assert not (room.root / "class" / "gradebook.db").exists()


def test_the_command_imports_no_library_that_it_does_not_need(room):
    code = "import sys; from autograde.cli import main; main(['waiting'], standalone_mode=False)"
    code += "; print([each for each in ('alembic', 'matplotlib', 'torch') if each in sys.modules])"
    known = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{LAB}: not released; nothing waits", "[]"], done
