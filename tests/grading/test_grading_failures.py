"""A grading that lacks something, or in which something fails: it is told, and nobody gets a silent zero."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB

from autograde.classroom import pending
from autograde.sandbox import bubblewrap
from autograde.sandbox.resources.limits import MIB, least_memory


@pytest.fixture
def no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sandbox for a submission starts, though one did when that was tried."""
    monkeypatch.setattr(bubblewrap, "refusal", lambda: None)
    monkeypatch.setattr(bubblewrap, "inner", lambda *given: ["sh", "-c", "echo No room for a sandbox. >&2; exit 1"])


@pytest.mark.thorough
def test_where_there_is_no_bubblewrap_grading_refuses_and_does_nothing(small, monkeypatch):
    small.put("ada", small.answered(ANSWERS))
    programs = small.root.parent / "programs"
    programs.mkdir()
    for program in ("mpiexec", "sh"):
        (programs / program).symlink_to(shutil.which(program, path=f"{Path(sys.executable).parent}:{os.defpath}"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{programs}")
    result = small.grade()
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith("Error: Student code runs in a sandbox, and bubblewrap")
    assert "sudo apt install bubblewrap" in result.output and "--no-sandbox" in result.output
    assert small.scores() == {}
    done = small.nbgrader("autograde", LAB, "--create")
    assert done.returncode != 0 and "bubblewrap is not installed" in done.stderr
    assert small.scores() in ({}, {"ada": 0})
    assert not (small.root / "class" / "autograded" / "ada" / LAB / f"{LAB}.ipynb").exists()
    assert small.grade("--no-sandbox").exit_code == 0
    assert small.scores() == {"ada": 5}


@pytest.mark.thorough
def test_when_our_side_fails_nobody_gets_a_silent_zero(small, no_ranks):
    small.put("ada", small.answered(ANSWERS))
    small.put("bob", small.answered({"double": ANSWERS["double"]}))
    result = small.grade()
    assert result.exit_code == 0
    rows = small.rows()
    assert [(row["status"], row["double"], row["total"]) for row in rows.values()] == [
        ("needs manual grading", "", ""),
        ("needs manual grading", "", "0"),
    ]
    assert "No room for a sandbox." in rows["ada"]["problems"]
    with small.gradebook() as gradebook:
        grade = gradebook.find_grade("double-check", LAB, LAB, "bob")
        assert (grade.auto_score, grade.needs_manual_grade) == (None, True)
        assert gradebook.find_grade("total-check", LAB, LAB, "bob").needs_manual_grade is False
    assert "could not be graded automatically, and waits for your instructor" in small.feedback("ada")


@pytest.mark.thorough
def test_a_submission_that_stops_the_grader_does_not_stop_the_class(small, monkeypatch):
    for student in ("ada", "bob", "eve"):
        small.put(student, small.released())
    small.put("eve", small.released(), when="yesterday, maybe")
    real = pending.read_submission

    def read(path: Path):
        if "bob" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(pending, "read_submission", read)
    result = small.grade()
    assert result.exit_code == 1
    path = f"{small.root}/class/submitted/bob/{LAB}/{LAB}.ipynb"
    assert result.output.count(f"bob: not graded: Permission denied: {path}\n") == 1
    assert f"eve: not graded: {small.root}/class/submitted/eve/{LAB}/timestamp.txt is not a date" in result.output
    assert {student: row["status"] for student, row in small.rows().items()} == {
        "ada": "graded", "bob": "not graded", "eve": "not graded",
    }  # fmt: skip
    small.grade("--student", "ada")
    assert [small.rows()[student]["status"] for student in ("bob", "eve")] == ["not graded", "not graded"]
    monkeypatch.undo()
    small.grade("--student", "bob")
    assert small.rows()["bob"]["status"] == "graded"


@pytest.fixture
def full_disk(small: Classroom) -> Iterator[Classroom]:
    """The disk that feedback is written to has room for some pages only."""
    folder = small.root / "class" / "feedback"
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system takes root and CAP_SYS_ADMIN")
    yield small
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.thorough
def test_a_full_disk_costs_feedback_pages_only_and_they_are_written_later(full_disk):
    students = [f"s{number}" for number in range(5)]
    for student in students:
        full_disk.put(student, full_disk.released())
    result = full_disk.grade()
    assert result.exit_code == 1
    named = [line for line in result.output.splitlines() if "No space left on device" in line]
    assert named and all("graded, but its feedback is not written" in line for line in named)
    assert len(named) < 5
    assert full_disk.scores() == dict.fromkeys(students, 0)
    assert {row["status"] for row in full_disk.rows().values()} == {"graded"}
    feedback = full_disk.root / "class" / "feedback"
    subprocess.run(["mount", "-o", "remount,size=10m", str(feedback)], check=True)
    again = full_disk.grade()
    assert (again.exit_code, f"{LAB}: 0 to grade, 5 graded before" in again.output) == (0, True)
    assert all(": not started, " in full_disk.feedback(student) for student in students)


@pytest.mark.thorough
def test_a_missing_exchange_is_one_line_and_what_is_here_is_graded(small):
    small.put("ada", small.released())
    result = small.lockstep("grade", LAB)
    assert result.exit_code == 0
    assert result.output.splitlines()[0] == (
        f"no exchange at {small.exchange}: nothing is collected; what is in class/submitted is graded"
    )
    assert small.scores() == {"ada": 0}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"memory": 2**29}, f"ranks alone take {least_memory() // MIB} MiB, and memory is 512 MiB"),
        ({"todo": 300}, "limits of time must rise: todo, notebook, submission"),
        ({"ram": 2**32}, "unexpected keyword argument 'ram'"),
    ],
)
def test_limits_that_no_submission_can_keep_are_one_line_and_nobody_is_graded(small, limits, told):
    small.put("ada", small.released())
    small.config = f"c.Judge.limits = {limits!r}"
    result = small.grade()
    assert result.exit_code == 1
    *_, error = result.output.splitlines()
    assert error.startswith("Error: c.Judge.limits in nbgrader_config.py: ") and error.endswith(told)
    assert not (small.root / "class" / LAB / "grades.csv").exists()


@pytest.mark.thorough
def test_a_lab_that_changed_its_cells_after_grading_is_graded_again(small):
    small.put("ada", small.released())
    small.grade()
    source = small.root / "solutions" / LAB / "lab.py"
    source.write_text(source.read_text() + "\n\n# %%\nprint('one more')\n")
    result = small.grade()
    assert result.exit_code == 0
    assert small.rows()["ada"]["status"] == "graded"
