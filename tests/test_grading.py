"""A class is graded with `lockstep grade`: nobody is missing, whatever was handed in and under whatever name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB, make_course

from autograde import grading, sandbox

pytestmark = pytest.mark.side_by_side

ODD = [" [o'b]rien {é}+* ", "-dash", ".dot", "'quote\"", "a,b;c", "名前", "a" * 200, "~$HOME", "..."]


@pytest.fixture
def small(tmp_path: Path) -> Classroom:
    """A class on the small lab, built and not graded."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    return room


@pytest.fixture
def no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sandbox for a submission starts, though one did when that was tried."""
    monkeypatch.setattr(sandbox, "refusal", lambda: None)
    monkeypatch.setattr(sandbox, "inner", lambda *given: ["sh", "-c", "echo No room for a sandbox. >&2; exit 1"])


def test_a_small_class(small):
    small.put("right", small.answered(ANSWERS))
    small.put("partly", small.answered(ANSWERS | {"double": "def double(x):\n    return 2 * abs(x)"}))
    small.put("blank", small.released())
    small.put("broken", b"{ not json")
    small.put("without", None)
    result = small.grade("--jobs", "2", "--seed", "11")
    assert result.exit_code == 0, result.output
    assert small.scores() == {"right": 5, "partly": 4.5, "blank": 0, "broken": 0, "without": 0}
    rows = small.rows()
    assert [rows[student]["status"] for student in ("right", "partly", "blank", "broken", "without")] == [
        "graded", "graded", "graded", "needs manual grading", "graded",
    ]  # fmt: skip
    assert rows["partly"].pop("seed").isdigit()
    assert rows["partly"] | {"seconds_late": "0"} == {
        "student": "partly", "status": "graded", "score": "4.5", "max": "5", "double": "1.5", "total": "3",
        "findings": "double:sign-lost", "problems": "", "submitted_at": "2025-01-01 10:00:00 UTC", "seconds_late": "0",
    }  # fmt: skip
    assert "90_small.ipynb is not JSON: line 1" in rows["broken"]["problems"]
    assert "there is no 90_small.ipynb in the submission" in rows["without"]["problems"]
    for student, row in rows.items():
        for problem in filter(None, row["problems"].split("; it")[:1]):
            assert problem in small.feedback(student).replace("<code>", "`").replace("</code>", "`")
    assert "A negative number comes out wrong." in small.feedback("partly")
    assert small.graded("partly").metadata.lockstep.seed == 11
    assert "graded: 4, needs manual grading: 1" in result.output
    assert (small.root / "class" / ".gitignore").read_text() == "*\n"


def test_odd_ids_are_graded_and_unusable_ones_are_named(small):
    for student in ODD:
        small.put(student, small.released())
    small.put("two\nlines", small.released())
    os.makedirs(os.fsencode(small.root / "class" / "submitted") + b"/\xff\xfe/" + LAB.encode())
    result = small.grade()
    assert result.exit_code == 1
    assert "'two\\nlines': not graded: the name of the folder has a line break" in result.output
    assert "'\\udcff\\udcfe': not graded: the name of the folder is not UTF-8; rename it" in result.output
    assert set(small.scores()) == set(ODD)
    rows = small.rows()
    assert {student for student, row in rows.items() if row["status"] == "graded"} == set(ODD)
    assert {student for student, row in rows.items() if row["status"] == "not graded"} == {
        "'two\\nlines'",
        "'\\udcff\\udcfe'",
    }
    assert all("This TODO is not done yet" in small.feedback(student) for student in ODD)
    assert f"{len(ODD)} graded before" in small.grade().output
    one = small.grade("--force", f"--student={ODD[0]}")
    assert f"{LAB}: 1 to grade" in one.output


def test_students_who_are_not_there_are_named(small):
    small.put("ada", small.released())
    result = small.grade("--student", "adam")
    assert result.exit_code == 1
    assert f"adam: there is no submission of {LAB} in class/submitted" in result.output
    assert small.rows()["ada"]["status"] == "not graded yet"


def test_nobody_is_graded_twice_but_for_a_newer_submission(small):
    small.put("ada", small.released())
    small.put("bob", small.released())
    assert f"{LAB}: 2 to grade\n" in small.grade().output
    pages = {student: small.feedback(student) for student in ("ada", "bob")}
    assert f"{LAB}: 0 to grade, 2 graded before and unchanged" in small.grade().output
    small.put("bob", small.answered({"double": "def double(x): return"}), "2025-01-02 10:00:00.000000 UTC")
    (small.root / "class" / "feedback" / "ada" / LAB / f"{LAB}.html").unlink()
    assert f"{LAB}: 1 to grade, 1 graded before" in small.grade().output
    assert small.rows()["bob"]["submitted_at"] == "2025-01-02 10:00:00 UTC"
    assert small.feedback("ada") == pages["ada"]
    assert small.feedback("bob") != pages["bob"]


def test_a_grading_that_was_broken_off_is_done_again(small):
    folder = small.put("ada", small.released())
    half = small.root / "class" / "autograded" / "ada" / LAB
    half.mkdir(parents=True)
    for name in (f"{LAB}.ipynb", "timestamp.txt"):
        (half / name).write_bytes((folder / name).read_bytes())
    assert f"{LAB}: 1 to grade\n" in small.grade().output
    assert small.scores() == {"ada": 0}


def test_manual_scores_and_late_submissions_are_kept_as_nbgrader_has_them(small):
    small.put("ada", small.released())
    small.grade()
    with small.gradebook() as gradebook:
        gradebook.find_grade("total-check", LAB, LAB, "ada").manual_score = 2.5
        gradebook.find_comment("total", LAB, LAB, "ada").manual_comment = "Well argued."
        gradebook.update_or_create_assignment(LAB, duedate="2025-01-01 09:00:00")
        gradebook.db.commit()
    small.grade("--force")
    row = small.rows()["ada"]
    assert (row["score"], row["total"], row["seconds_late"]) == ("2.5", "2.5", "3600")
    assert row["status"] == "needs manual grading"  # nbgrader asks for a look at each regraded manual score
    with small.gradebook() as gradebook:
        assert gradebook.find_comment("total", LAB, LAB, "ada").comment == "Well argued."
    assert "Well argued." in small.feedback("ada")


def test_points_that_are_changed_later_count_for_those_who_are_graded_again(small):
    for student in ("ada", "bob"):
        small.put(student, small.answered({"double": ANSWERS["double"]}))
    small.grade("--student", "ada", "--student", "bob", "--no-sandbox")
    assert small.scores() == {"ada": 2, "bob": 2}
    checks = small.root / "solutions" / LAB / "checks.py"
    checks.write_text(checks.read_text().replace("points = 2", "points = 4"))
    small.grade("--force", "--student", "ada")
    assert {student: (row["score"], row["max"]) for student, row in small.rows().items()} == {
        "ada": ("4", "7"),
        "bob": ("2", "7"),
    }


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


def test_a_submission_that_stops_the_grader_does_not_stop_the_class(small, monkeypatch):
    for student in ("ada", "bob", "eve"):
        small.put(student, small.released())
    small.put("eve", small.released(), when="yesterday, maybe")
    real = grading.read_submission
    calls: list[Path] = []

    def read(path: Path):
        calls.append(path)
        if "bob" in str(path) and len(calls) > 2:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(grading, "read_submission", read)
    result = small.grade()
    assert result.exit_code == 1
    path = f"{small.root}/class/submitted/bob/{LAB}/{LAB}.ipynb"
    assert result.output.count(f"bob: not graded: Permission denied: {path}\n") == 1
    assert f"eve: not graded: {small.root}/class/submitted/eve/{LAB}/timestamp.txt is not a date" in result.output
    assert {student: row["status"] for student, row in small.rows().items()} == {
        "ada": "graded", "bob": "not graded", "eve": "not graded",
    }  # fmt: skip


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
    assert all("This TODO is not done yet" in full_disk.feedback(student) for student in students)


def test_a_missing_exchange_is_one_line_and_what_is_here_is_graded(small):
    small.put("ada", small.released())
    result = small.lockstep("grade", LAB)
    assert result.exit_code == 0
    assert result.output.splitlines()[0] == (
        f"no exchange at {small.exchange}: nothing is collected; what is in class/submitted is graded"
    )
    assert small.scores() == {"ada": 0}


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"memory": 2**29}, "ranks alone take 768 MiB, and memory is 512 MiB"),
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


def test_a_lab_that_changed_its_cells_after_grading_is_one_line(small):
    small.put("ada", small.released())
    small.grade()
    source = small.root / "solutions" / LAB / "lab.py"
    source.write_text(source.read_text() + "\n\n# %%\nprint('one more')\n")
    result = small.grade()
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {LAB} does not go into the gradebook: ")
    assert "Cannot add or remove cells" in result.output
    assert result.output.count("\n") == 1


def test_enrolled_students_without_a_submission_are_in_the_list(small):
    small.put("ada", small.released())
    small.grade()
    with small.gradebook() as gradebook:
        gradebook.add_student("zoe")
    small.grade()
    assert small.rows()["zoe"]["status"] == "no submission"


def test_enrolling_adds_labs_and_students_and_changes_no_name(small):
    assert small.lockstep("enrol", "ada=Ada King Lovelace", "bob").exit_code == 0
    assert small.lockstep("enrol", "ada=A. L.", "cleo").exit_code == 0
    with small.gradebook() as gradebook:
        names = {student.id: (student.first_name, student.last_name) for student in gradebook.students}
        assert [assignment.name for assignment in gradebook.assignments] == [LAB]
        assert gradebook.find_assignment(LAB).max_score == 5
    assert names == {"ada": ("Ada King", "Lovelace"), "bob": ("", "bob"), "cleo": ("", "cleo")}
