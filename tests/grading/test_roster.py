"""`lockstep enrol --students FILE`: a class is enrolled from the university's own lists, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import Classroom
from filled_gradebook import NAMES
from nbgrader.api import Student
from small_course import LAB, make_course

from autograde.classroom.errors import StepFailed
from autograde.term.lists.roster import read_roster
from autograde.term.lists.student_list import Known, from_gradebook, from_list

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


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """The class of `NAMES`, of whom ada has handed in something, in a course that has no lab any more."""
    root = tmp_path_factory.mktemp("roster") / "course"
    (root / "solutions").mkdir(parents=True)
    (root / "class" / "submitted" / "ada" / LAB).mkdir(parents=True)
    room = Classroom(root, LAB)
    with room.gradebook() as gradebook:
        for number, (student, (first, last)) in enumerate(NAMES.items()):
            email, lms_id = f"{number}@example.org", f"{100 + number}"
            gradebook.add_student(student, first_name=first, last_name=last, email=email, lms_user_id=lms_id)
    return room


def students(room: Classroom) -> dict[str, str | None]:
    """The e-mail addresses of all in the gradebook, by id."""
    with room.gradebook() as gradebook:
        return {one.id: one.email for one in gradebook.students}


def test_canvas_test_student_is_not_enrolled_and_is_named(room, listed):
    listed.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (77)\n,,,,,Manual Posting\n    Points Possible,,,,,10\n"
        '"Lovelace, Ada",9001,s1,ada,Mon,8\n'
        '"Student, Test",9003,,0d3f5b1c8a7e6d4f2b9a1c3e5d7f9b0a2c4e6d8f,Mon,\n'
    )
    done = room.lockstep("enrol", "--students", str(listed))
    assert done.exit_code == 0 and "1 on the list, 0 of them new" in done.output
    assert "no people, so not enrolled: Test Student\n" in done.output
    assert students(room).keys() == NAMES.keys()


WITHOUT_USERNAMES = (
    "First name,Last name,ID number,Email address,Groups\n"
    "Ada,King,7001,ada.king@uni.example,\nNoor,Ali,7002,noor.ali@uni.example,\nTina,Teacher,7003,tina@uni.example,\n"
)


def test_a_list_of_which_nobody_is_known_is_refused_unless_all_are_said_to_be_new_and_can_be_taken_back(room, listed):
    before = students(room)
    listed.write_text(WITHOUT_USERNAMES)
    refused = room.lockstep("enrol", "--students", str(listed), "bob")
    assert refused.exit_code == 1 and refused.output.count("\n") == 1
    for part in (
        "nobody on it is in the gradebook, whose 6 students",
        "from the column ID number, such as 7001",
        "--new",
    ):
        assert part in refused.output
    assert students(room) == before
    done = room.lockstep("enrol", "--students", str(listed), "--new")
    assert done.exit_code == 0 and "new: 7001; 7002; 7003\n" in done.output
    assert students(room).keys() - before.keys() == {"7001", "7002", "7003"}
    back = room.lockstep("enrol", "--remove", "--students", str(listed), "ada", "nobody")
    assert back.output.splitlines() == [
        "taken out of the gradebook: 7001; 7002; 7003",
        "in it still, with work or an extension: ada",
        "not in the gradebook: nobody",
    ]
    assert students(room) == before
    assert room.lockstep("enrol", "--remove", "ada").exit_code == 1


def test_who_is_known_by_another_of_the_lines_ids_is_not_enrolled_a_second_time(room, listed):
    before = students(room)
    listed.write_text(
        "Vorname;Nachname;ID-Nummer;E-Mail-Adresse\nAda;Lovelace;7001;0@EXAMPLE.org\nLi;L;0101;\nX;Y;7;\n"
    )
    try:
        done = room.lockstep("enrol", "--students", str(listed))
        assert done.exit_code == 0 and "their ids are from the column ID-Nummer\nnew: 7\n" in done.output
        assert "not enrolled: Li L (0101): nearly li, who is\n" in done.output
        assert students(room).keys() - before.keys() == {"7"}
    finally:
        assert room.lockstep("enrol", "--remove", "7").exit_code == 0


def test_ids_that_lead_to_two_students_enrol_neither_unless_one_is_the_id(room, listed):
    before = students(room)
    listed.write_text("Username;Email address\nada;2@example.org\nli;\n")
    done = room.lockstep("enrol", "--students", str(listed))
    assert "not enrolled: ? (ada): Username ada is that of ada, Email address 2@example.org is that of" in done.output
    assert students(room) == before
    listed.write_text("id;email\nada;2@example.org\n")
    assert read_roster(
        listed, Known([from_gradebook(Student(id=one, email=mail)) for one, mail in before.items()])
    ).entries


def test_one_student_in_two_spellings_is_one_or_both_are_named(room, listed):
    listed.write_text("id\nADA\n0815\n815\nJo\njo\n")
    done = room.lockstep("enrol", "--students", str(listed))
    assert "1 on the list, 0 of them new" in done.output
    assert "not enrolled: 0815 and 815: is it one student?\nnot enrolled: Jo and jo: is it" in done.output
    assert students(room).keys() == NAMES.keys()
    try:
        assert "Ada and ada are in the gradebook; if that is one" in room.lockstep("enrol", "Ada").output
        listed.write_text("id;email\nAda;0@example.org\n")
        said = room.lockstep("enrol", "--students", str(listed)).output
        assert "Email address 0@example.org is that of Ada and ada, so it finds nobody" in said
    finally:
        assert room.lockstep("enrol", "--remove", "Ada").exit_code == 0


TAKEN_BACK = "if they have other ids here, `./lockstep enrol --remove --students {path}` takes them out again"
CANNOT = "no account here, so they cannot log in: no one; to take them out: `./lockstep enrol --remove 'no one'`"
NOBODY = "nobody on it has an account on this hub's machine; those of the list are from the column Email address"


@pytest.mark.parametrize(
    ("on_hub", "text", "said"),
    [
        (False, "id\nada\nnoor\n", TAKEN_BACK),
        (True, "id\nroot\nno one\n", CANNOT),
        (True, "id\nroot\n", ""),
        (True, "Email address\nada@uni.example\nnoor@uni.example\n", NOBODY),
    ],
)
def test_the_first_list_of_a_gradebook_tells_who_cannot_log_in_and_how_to_take_them_out(
    tmp_path, listed, on_hub, text, said
):
    (tmp_path / "course" / "solutions").mkdir(parents=True)
    room = Classroom(tmp_path / "course", LAB, f"c.ExchangeCollect.check_owner = {on_hub}")
    listed.write_text(text)
    done = room.lockstep("enrol", "--students", str(listed))
    first, *more = done.output.splitlines()
    enrolled = len(students(room))
    if said == NOBODY:
        assert (done.exit_code, enrolled, more) == (1, 0, []) and said in first
        assert room.lockstep("enrol", "--students", str(listed), "--new").exit_code == 0
        assert len(students(room)) == 2
    else:
        assert (done.exit_code, enrolled, len(more)) == (0, text.count("\n") - 1, bool(said))
        assert said.format(path=listed) in done.output
