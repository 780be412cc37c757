"""A class is graded with `lockstep grade`: nobody is missing, whatever was handed in and under whatever name."""

from __future__ import annotations

import os

import pytest
from small_course import ANSWERS, LAB

from autograde.classroom.csv_file import defused
from autograde.classroom.grades import AGAIN

ODD = [" [o'b]rien {é}+* ", "-dash", ".dot", "'quote\"", "a,b;c", "名前", "a" * 200, "~$HOME", "..."]


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
        "late_penalty": "0", "findings": "double:sign-lost", "problems": "",
        "criteria": "double:twice 1.5/1.5; double:negative 0/0.5; total:sum 3/3",
        "submitted_at": "2025-01-01 10:00:00 UTC", "seconds_late": "0", "deadline": "",
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


@pytest.mark.thorough
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
    assert {student for student, row in rows.items() if row["status"] == "graded"} == set(map(defused, ODD))
    assert {student for student, row in rows.items() if row["status"] == "not graded"} == {
        "'two\\nlines'",
        "'\\udcff\\udcfe'",
    }
    assert all(": not started, " in small.feedback(student) for student in ODD)
    assert f"{len(ODD)} graded before" in small.grade().output
    one = small.grade("--force", f"--student={ODD[0]}")
    assert f"{LAB}: 1 to grade" in one.output


def test_students_who_are_not_there_are_named(small):
    small.put("ada", small.released())
    result = small.grade("--student", "adam")
    assert result.exit_code == 1
    assert f"adam: there is no submission of {LAB} in class/submitted" in result.output
    assert small.rows()["ada"]["status"] == "not graded yet"


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_grading_that_was_broken_off_is_done_again(small):
    folder = small.put("ada", small.released())
    half = small.root / "class" / "autograded" / "ada" / LAB
    half.mkdir(parents=True)
    for name in (f"{LAB}.ipynb", "timestamp.txt"):
        (half / name).write_bytes((folder / name).read_bytes())
    assert f"{LAB}: 1 to grade\n" in small.grade().output
    assert small.scores() == {"ada": 0}


@pytest.mark.thorough
def test_manual_scores_comments_and_late_submissions_are_kept(small):
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
    assert row["status"] == "graded"  # nothing has changed that the score by hand was given for
    with small.gradebook() as gradebook:
        assert gradebook.find_comment("total", LAB, LAB, "ada").comment == "Well argued."
    assert "Well argued." in small.feedback("ada")


@pytest.mark.thorough
def test_points_that_are_changed_later_count_for_those_who_are_graded_again(small):
    for student in ("ada", "bob"):
        small.put(student, small.answered({"double": ANSWERS["double"]}))
    small.grade("--student", "ada", "--student", "bob", "--no-sandbox")
    assert small.scores() == {"ada": 2, "bob": 2}
    checks = small.root / "solutions" / LAB / "checks" / "double.py"
    checks.write_text(checks.read_text().replace('"twice", 1.5', '"twice", 3.5'))
    small.grade("--force", "--student", "ada")
    assert {student: (row["score"], row["max"]) for student, row in small.rows().items()} == {
        "ada": ("4", "7"),
        "bob": ("", "7"),
    }
    assert small.rows()["bob"]["status"] == AGAIN


@pytest.mark.thorough
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
