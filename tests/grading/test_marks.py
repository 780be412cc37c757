"""`lockstep grades`: what Moodle and Canvas import, with any names, and without a formula in it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from classroom import Classroom
from filled_gradebook import NAMES, comment, deadline, filled, hand_in
from nbgrader.apps.api import NbGraderAPI
from small_course import LAB

from autograde.classroom import grades
from autograde.classroom.csv_file import defused
from autograde.classroom.nbgrader_course import Course
from autograde.term.marks import feedback


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class in which Noor has handed in nothing, and Thora was late."""
    room = filled(tmp_path_factory.mktemp("marks") / "course")
    deadline(room, "2026-01-03 12:00:00")
    for student in ("ada", "li", "o'neil", "=1+1"):
        hand_in(room, student, 2, 3)
    hand_in(room, "thora", 1.5, 3, "2026-01-04 13:00:00")
    comment(room, "thora", "Well\ndone.")
    return room


def written(room: Classroom, system: str, *options: str | Path) -> tuple[list[list[str]], list[str]]:
    """What `lockstep grades` wrote, and what it said before the file's name."""
    result = room.lockstep("grades", LAB, "--format", system, *map(str, options))
    assert result.exit_code == 0, result.output
    *said, path = result.output.splitlines()
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file)), said


def test_moodle_gets_one_column_of_ids_the_mark_and_the_feedback(room):
    (heading, *rows), said = written(room, "moodle")
    assert heading == ["First name", "Last name", "Email address", LAB, f"{LAB} (Feedback)", "Days late"]
    by_id = {row[2]: row for row in rows}
    assert by_id["0@example.org"] == ["Ada", "Lovelace", "0@example.org", "5", "double: 2 of 2; total: 3 of 3.", "0"]
    late = "double: 1.5 of 2; total: 3 of 3. Handed in 1 d 1 h late. Well done."
    assert by_id["4@example.org"] == ["Þóra", "Ægisdóttir", "4@example.org", "4.5", late, "2"]
    assert by_id["3@example.org"] == ["نور", "العلي", "3@example.org", "", "", "0"]
    assert said == ["handed in nothing, mark left empty: noor"]


def test_points_by_hand_and_the_late_penalty_are_told_so_that_parts_add_up_to_the_score():
    late = grades.Row("ada", "graded", 5.5, 7, {"double": 2, "total": 3}, {"why": (1.5, 2)}, 1, seconds_late=12)
    rows = [late, grades.Row("bob", "graded", 5, 7, {"double": 2, "total": 3}, {"why": (0, 2)})]
    shown = [line.split() for line in grades.table(rows, ["double", "total"]).splitlines()]
    assert shown == [
        ["student", "double", "total", "why", "late", "score", "status"],
        ["ada", "2", "3", "1.5", "-1", "5.5/7", "graded"],
        ["bob", "2", "3", "0", "5/7", "graded"],
    ]
    assert feedback(late, {}).endswith("why: 1.5 of 2. Handed in 12 s late; the penalty is 1.")


def test_canvas_gets_its_own_columns_and_no_other_which_would_become_an_assignment(room):
    (heading, possible, *rows), _ = written(room, "canvas")
    assert heading == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", LAB]
    assert possible == ["Points Possible", "", "", "", "", "5"]
    assert ["Lovelace, Ada", "100", "", "", "", "5"] in rows and ["李, 雷", "101", "", "", "", "5"] in rows
    assert ["العلي, نور", "103", "", "", "", ""] in rows


def test_no_name_is_a_formula_and_no_number_is_made_text(room):
    for system in ("moodle", "canvas", "csv"):
        rows, _ = written(room, system)
        assert not [cell for row in rows for cell in row if cell[:1] in {"=", "+", "-", "@"}]
        assert sum("1+1" in cell or "calc" in cell for row in rows for cell in row) >= 1
    assert [defused(text) for text in ("=1", " =1", "＝1", "\t=1", "-2.5", "+47123", "a=b", "")] == [
        "'=1", "' =1", "'＝1", "'\t=1", "-2.5", "+47123", "a=b", "",
    ]  # fmt: skip


def test_the_full_table_has_every_student_with_status_lateness_and_deadline(room):
    (heading, *rows), _ = written(room, "csv")
    table = {row[1]: dict(zip(heading, row, strict=True)) for row in rows}
    assert {student.lstrip("'") for student in table} == {*NAMES}
    assert table["thora"] | {"comment": ""} == {
        "lab": LAB, "student": "thora", "first name": "Þóra", "last name": "Ægisdóttir",
        "Email address": "4@example.org", "ID number": "104", "ID": "104", "status": "graded", "points": "4.5",
        "max": "5", "days late": "2", "deadline UTC": "2026-01-03 12:00:00", "comment": "",
    }  # fmt: skip
    assert (table["noor"]["points"], table["noor"]["status"]) == ("", "no submission")


def test_who_handed_in_nothing_gets_0_only_when_asked_and_only_after_the_deadline(room):
    (_, *rows), said = written(room, "moodle", "--zero")
    assert [row[3] for row in rows if row[2] == "3@example.org"] == ["0"]
    assert said == ["handed in nothing, 0 points: noor"]
    deadline(room, "2999-01-01 00:00:00")
    try:
        assert written(room, "moodle", "--zero")[1] == ["handed in nothing, mark left empty: noor"]
    finally:
        deadline(room, "2026-01-03 12:00:00")


def test_canvas_own_export_says_who_is_who_and_both_kinds_of_missing_people_are_named(room, tmp_path):
    listed = tmp_path / "canvas.csv"
    listed.write_text(
        "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Essay (77)\n"
        "    Points Possible,,,,,10\n"
        '"Lovelace, Ada",9001,s1,ada,Mon,8\n'
        '"العلي, نور",9002,s2,noor,Mon,\n'
        '"Who, Dr",9003,s3,who,Tue,\n',
        encoding="utf-8",
    )
    (_, _, *rows), said = written(room, "canvas", "--students", listed)
    assert rows == [
        ["Lovelace, Ada", "9001", "s1", "ada", "Mon", "5"],
        ["العلي, نور", "9002", "s2", "noor", "Mon", ""],
        ["Who, Dr", "9003", "s3", "who", "Tue", ""],
    ]
    assert said == [
        "found by SIS Login ID: 2",
        f"not on the list {listed}, so not in the file: =1+1; li; o'neil; thora",
        "not in the gradebook, mark left empty (compared: SIS Login ID, SIS User ID, ID): Who, Dr",
        "handed in nothing, mark left empty: noor",
    ]


def test_who_is_not_matched_never_gets_0_and_an_address_finds_as_well_as_an_id(room, tmp_path):
    """A student with points whose login is an e-mail address, and one whom nobody knows."""
    listed = tmp_path / "canvas.csv"
    listed.write_text('Student,ID,SIS Login ID\n"Lovelace, Ada",9001,3@EXAMPLE.org\n"Who, Dr",9003,who@example.org\n')
    (_, _, *rows), said = written(room, "canvas", "--students", listed, "--zero")
    assert [row[-1] for row in rows] == ["0", ""], "who was found handed in nothing"
    assert said[0] == "found by SIS Login ID: 1"
    assert "not in the gradebook, mark left empty (compared: SIS Login ID, ID): Who, Dr" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,email\nx1,x1@example.org\nx2,\n", "nobody on it is in the gradebook; compared: id, Email address"),
        ("Student,ID,SIS Login ID\n    Points Possible,,\n", "there is nobody to mark"),
    ],
)
def test_a_list_of_which_nobody_can_get_a_mark_is_an_error_and_makes_no_file(room, tmp_path, text, why):
    listed, path = tmp_path / "list.csv", room.root / "class" / LAB / "marks_canvas.csv"
    path.unlink(missing_ok=True)
    listed.write_text(text)
    result = room.lockstep("grades", LAB, "--format", "canvas", "--students", str(listed), "--zero")
    assert (result.exit_code, path.exists()) == (1, False)
    assert why in result.output and "nothing is written" in result.output and result.output.count("\n") == 1


def test_a_class_without_ids_of_canvas_gets_no_file_of_headings(room):
    path = room.root / "class" / LAB / "marks_canvas.csv"
    path.unlink(missing_ok=True)
    with room.gradebook() as gradebook:
        before = {student.id: student.lms_user_id for student in gradebook.students}
        for student in gradebook.students:
            student.lms_user_id = None
        gradebook.db.commit()
    try:
        result = room.lockstep("grades", LAB, "--format", "canvas", "--zero")
        assert result.exit_code == 1 and "nobody has an id there (Canvas knows people by ID" in result.output
        assert not path.exists()
    finally:
        with room.gradebook() as gradebook:
            for student in gradebook.students:
                student.lms_user_id = before[student.id]
            gradebook.db.commit()


def test_a_list_as_nbgrader_imports_it_works_and_who_has_no_id_is_left_out_as_moodle_needs(room, tmp_path):
    listed = tmp_path / "class.csv"
    listed.write_text("id;email\nada;ada@uni.example\nnew;\n")
    (_, *rows), said = written(room, "moodle", "--students", listed)
    assert [row[2:4] for row in rows] == [["ada@uni.example", "5"]]
    assert said[3].startswith(
        "without an id, so not in the file (Moodle knows people by one column, here Email address"
    )
    assert said[3].endswith(": new")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name,age\nada,36\n", "has no column of ids"),
        ("id,email\nada,a@b\nada,c@d\n", "more than one line for ada"),
        (b"\xff\xfe", "it is not UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_list_that_cannot_be_used_is_one_clear_line(room, tmp_path, text, why):
    listed = tmp_path / "list.csv"
    if text is not None:
        listed.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = room.lockstep("grades", LAB, "--students", str(listed))
    assert result.exit_code == 1 and why in result.output and result.output.count("\n") == 1


def test_two_people_with_one_id_are_named_and_get_no_mark(room, tmp_path):
    listed = tmp_path / "list.csv"
    listed.write_text("id,email\nada,x@uni.example\nli,X@uni.example\nnoor,y@uni.example\n")
    (_, *rows), said = written(room, "moodle", "--students", listed)
    assert [row[2] for row in rows] == ["y@uni.example"]
    assert "Email address X@uni.example is that of both ada and li" in said
    assert "not in the file, as somebody else has the same id: ada; li" in said


def test_an_address_that_two_have_finds_nobody_and_both_are_named(room, tmp_path):
    """ada's and li's; the list has addresses only, then usernames as well."""
    listed, path = tmp_path / "list.csv", room.root / "class" / LAB / "marks_moodle.csv"
    listed.write_text("First name,Last name,Email address\nAda,Lovelace,0@example.org\nÞóra,Ægisdóttir,4@example.org\n")
    alone = "First name,Last name,Email address\nAda,Lovelace,0@example.org\n"
    shared = "Lovelace, Ada is not found: Email address 0@example.org is that of both ada and li"
    with room.gradebook() as gradebook:
        gradebook.update_or_create_student("li", email="0@Example.org")
    try:
        (_, *rows), said = written(room, "moodle", "--students", listed)
        assert [row[2:4] for row in rows] == [["0@example.org", ""], ["4@example.org", "4.5"]]
        assert f"{shared}; mark left empty" in said
        path.unlink()
        listed.write_text(alone)
        refused = room.lockstep("grades", LAB, "--format", "moodle", "--students", str(listed))
        assert refused.exit_code == 1 and shared in refused.output and not path.exists()
        listed.write_text(alone.replace("Email", "Username,Email").replace("0@", "li,0@"))
        (_, *rows), said = written(room, "moodle", "--students", listed)
        assert [row[2:4] for row in rows] == [["0@example.org", "5"]] and "found by Username: 1" in said
        assert "not in the file, as somebody else has the same id: ada; li" in written(room, "moodle")[1]
    finally:
        with room.gradebook() as gradebook:
            gradebook.update_or_create_student("li", email="1@example.org")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ada,4@example.org,100", "Username ada is that of ada, ID number 100 is that of ada, Email address"),
        (",4@example.org,100", "ID number 100 is that of ada, Email address 4@example.org is that of thora"),
    ],
)
def test_cells_that_find_different_students_find_none_of_them(room, tmp_path, line, why):
    listed = tmp_path / "list.csv"
    listed.write_text(f"Username,Email address,ID number\n{line}\nnoor,,\n")
    (heading, *rows), said = written(room, "csv", "--students", listed)
    (row,) = [dict(zip(heading, row, strict=True)) for row in rows if "4@example.org" in row]
    assert (row["points"], row["status"]) == ("", "not clear who it is")
    assert any(f"is not found: {why}" in each for each in said), said


def test_capitals_make_no_other_student_and_lost_zeros_are_named(room, tmp_path):
    listed = tmp_path / "list.csv"
    with room.gradebook() as gradebook:
        gradebook.update_or_create_student("thora", lms_user_id="00104")
    try:
        listed.write_text("ID number,Last name\nADA,Lovelace\n104,Ægisdóttir\n105,Who\n")
        _, said = written(room, "csv", "--students", listed)
        assert "Ægisdóttir (104) is not found, but nearly thora: are zeros lost, or is it another spelling?" in str(
            said
        )
        assert "found by ID number: 2" in said
        listed.write_text("ID number\nADA\nada\n")
        refused = room.lockstep("grades", LAB, "--students", str(listed))
        assert refused.exit_code == 1 and "more than one line for ada (ADA, ada)" in refused.output
    finally:
        with room.gradebook() as gradebook:
            gradebook.update_or_create_student("thora", lms_user_id="104")


def test_the_formgrader_has_the_same_names_and_finds_each_student(room):
    course = Course(room.root)
    api = NbGraderAPI(coursedir=course.directory, config=course.config)
    assert {one["id"]: (one["first_name"], one["last_name"]) for one in api.get_students()} == NAMES
    for student in NAMES:
        assert api.get_student(student)["last_name"] == NAMES[student][1]
        assert [one["student"] for one in api.get_student_submissions(student)] == [student]


def test_the_table_of_a_grading_is_aligned_whatever_the_letters():
    names = ["李雷", "Þo\u0301ra", "ada", "نور"]
    lines = grades.table([grades.Row(name, "graded", 5, 5, {"double": 2}) for name in names], ["double"]).splitlines()
    assert [grades.cells(line.partition("2")[0]) for line in lines[1:]] == [len("student") + 2] * 4
