"""`lockstep enrol --students FILE`: a class is enrolled from the university's own lists, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import Classroom
from nbgrader.api import Student
from small_course import LAB, make_course

from autograde.classroom.nbgrader_course import StepFailed
from autograde.term.roster import read_roster
from autograde.term.student_list import Known, from_gradebook, from_list

ADA, NOOR = "ada@uni.example", "noor@uni.example"
MOODLE = (
    "\ufeffFirst name,Last name,ID number,Institution,Department,Email address,Quiz (Real)\n"
    "Ada,Lovelace,104,,,ada@uni.example,7\nNoor,Al Ali,105,,,noor@uni.example,-\n"
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Essay (77)\n    Points Possible,,,,,10\n"
    '"Lovelace, Ada",9001,s1,ada,Mon,8\n"Al Ali, Noor",9002,s2,noor,Mon,\n"Student, Test",9003,,,Mon,\n'
)
PLAIN = "id;name;email;lms_user_id\nada;A. L.;countess@uni.example;104\nnoor;Noor Ali;;\n"
NBGRADERS = "id,first_name,last_name,email,lms_user_id\nada,Ada,Lovelace,ada@uni.example,104\n"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """The list's file."""
    return tmp_path / "list.csv"


def test_a_class_is_enrolled_before_the_first_build_beside_what_nbgrader_imported(tmp_path, listed):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    listed.write_text(NBGRADERS)
    done = room.nbgrader("db", "student", "import", str(listed))
    assert done.returncode == 0, done.stderr
    listed.write_text(PLAIN, encoding="utf-8")
    for new in (1, 0):
        result = room.lockstep("enrol", "bob", "--students", str(listed))
        said = f"2 on the list, {new} of them new; their ids are from the column id\n"
        assert (result.exit_code, result.output) == (0, said + "new: noor\n" * new)
    with room.gradebook() as gradebook:
        assert [one.name for one in gradebook.assignments] == [LAB]
        students = {one.id: (one.first_name, one.last_name, one.email, one.lms_user_id) for one in gradebook.students}
    assert students == {
        "ada": ("Ada", "Lovelace", "countess@uni.example", "104"),
        "bob": ("", "bob", None, None),
        "noor": ("Noor", "Ali", None, None),
    }


@pytest.mark.parametrize(
    ("export", "heading", "ids", "lms_ids"),
    [
        (MOODLE, "ID number", ["104", "105"], ["104", "105"]),
        (MOODLE.replace(",104,", ",,").replace(",105,", ",,"), "Email address", [ADA, NOOR], ["", ""]),
        (CANVAS, "SIS Login ID", ["ada", "noor"], ["9001", "9002"]),
    ],
)
def test_an_export_is_taken_as_it_is(listed, export, heading, ids, lms_ids):
    listed.write_text(export, encoding="utf-8")
    roster = read_roster(listed, Known([]))
    assert (roster.heading, roster.without, roster.doubtful) == (heading, [], [])
    assert [entry.student for entry in roster.entries] == ids
    assert [(entry.first, entry.last) for entry in roster.entries] == [("Ada", "Lovelace"), ("Noor", "Al Ali")]
    assert [entry.lms_id for entry in roster.entries] == lms_ids
    assert roster.nobody == (["Test Student"] if export == CANVAS else [])


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ({"SIS Login ID": "ada"}, "SIS Login ID"),
        ({"Username": "ada"}, "Username"),
        ({"ID number": "ada"}, "ID number"),
        ({"Email address": ADA.upper()}, "Email address"),
        ({"ID number": "104"}, "ID number"),
        ({"ID": "104", "SIS Login ID": "al1"}, "ID"),
    ],
)
def test_marks_find_a_student_by_each_of_the_columns_and_name_it(listed, line, heading):
    listed.write_text(f"{','.join(line)}\n{','.join(line.values())}\n")
    known = from_gradebook(Student(id="ada", first_name="Ada", last_name="Lovelace", email=ADA, lms_user_id="104"))
    (found,), _ = from_list(listed, [known])
    assert (found.student, [*found.compared]) == ("ada", [heading])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id\nada\nada\n", "more than one line for ada"),
        ("id\na/b\n", "'a/b' in column id cannot be an id; ids name folders, so put others into a column called id"),
        ("first,second\n1,2\n", r"has no column of ids; its headings are read as: first \| second; call one"),
    ],
)
def test_a_list_that_cannot_be_enrolled_is_one_line(listed, text, why):
    listed.write_text(text)
    with pytest.raises(StepFailed, match=why):
        read_roster(listed, Known([]))
