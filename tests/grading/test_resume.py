"""A grading that is killed, at any moment, goes on where it was, to the same end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB, make_course

STUDENTS = {
    "ada": ANSWERS,
    "bob": {"double": "def double(x):\n    return 2 * abs(x)"},
    "cleo": ANSWERS | {"total": "def total(comm, x):\n    if comm.rank:\n        return comm.allreduce(x)"},
    "dan": {},
    "eve": ANSWERS | {"double": "import os\nos._exit(0)"},
    "flo": ANSWERS,
}
KILLS = 3


def classroom(root: Path) -> Classroom:
    """The class with everything handed in, and nothing graded."""
    room = Classroom(make_course(root / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    for student, answers in STUDENTS.items():
        room.put(student, room.answered(answers))
    return room


def grading(room: Classroom) -> subprocess.Popen:
    """`lockstep grade`, started."""
    command = [sys.executable, "-m", "autograde", "grade", LAB, "--no-collect", "--jobs", "2", "--seed", "5"]
    return subprocess.Popen(command, env=room.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def result(room: Classroom) -> tuple:
    """All that a grading leaves, but for moments in time."""
    rows = [tuple(row.values()) for row in room.rows().values()]
    with room.gradebook() as gradebook:
        grades = sorted(
            (one.student.id, grade.name, grade.auto_score, grade.manual_score, grade.needs_manual_grade)
            for one in gradebook.assignment_submissions(LAB)
            for notebook in one.notebooks
            for grade in notebook.grades
        )
    pages = {student: room.feedback(student).rstrip().endswith("</html>") for student in STUDENTS}
    return rows, grades, pages


def graded(room: Classroom) -> int:
    """How many students are graded."""
    return len(list((room.root / "class" / "autograded").glob(f"*/{LAB}/*.ipynb")))


@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_a_grading_that_is_killed_again_and_again_ends_as_one_that_was_not(tmp_path):
    whole = classroom(tmp_path / "whole")
    began = time.monotonic()
    said, _ = grading(whole).communicate()
    seconds = time.monotonic() - began
    assert f"{LAB}: {len(STUDENTS)} to grade\n" in said

    room, moments = classroom(tmp_path / "killed"), random.Random(0)
    for kill in range(KILLS):
        process = grading(room)
        time.sleep(moments.uniform(0.2, 0.8) * seconds)
        # The last kill comes when more are written than are in work at a time, so that at least one was graded.
        while kill == KILLS - 1 and process.poll() is None and graded(room) < 4:
            time.sleep(0.05)
        process.kill()
        process.communicate()
    process = grading(room)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert f"{LAB}: {len(STUDENTS)} to grade\n" not in said, "nothing that was graded before the kills counted"
    assert result(room) == result(whole)


def test_two_gradings_of_a_class_do_not_run_at_once(tmp_path):
    room = classroom(tmp_path)
    first = grading(room)
    assert any("to grade" in line for line in first.stdout)
    first.send_signal(signal.SIGSTOP)  # so that it cannot end before the other one has begun
    said = room.grade()
    first.kill()
    first.communicate()
    assert said.exit_code == 1
    assert said.output.startswith("Error: another grading of this class is running")
