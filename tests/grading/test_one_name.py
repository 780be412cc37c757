"""One student whose id has an accent is one student, however a Mac wrote it."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from classroom import Classroom
from nbgrader.api import Gradebook
from small_course import LAB, make_course

from autograde.class_commands import StudentId
from autograde.classroom.gradebook.made import make_gradebook
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.submissions.one_name import ids_to_nfc, rename_to_nfc

COMPOSED, DECOMPOSED = normalize("NFC", "jos\u00e9"), normalize("NFD", "jos\u00e9")


def test_a_folder_gets_its_name_in_the_form_of_the_gradebook(tmp_path):
    for name in (DECOMPOSED, "ada"):
        (tmp_path / name).mkdir()
    (tmp_path / DECOMPOSED / "work").touch()
    assert len(rename_to_nfc(tmp_path)) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ada", COMPOSED]
    assert (tmp_path / COMPOSED / "work").exists()
    assert rename_to_nfc(tmp_path) == []


@pytest.mark.parametrize("typed", [DECOMPOSED, f"\ufeff{COMPOSED}", f" {COMPOSED}\u200b"])
def test_an_id_on_the_command_line_is_in_the_form_of_the_gradebook(typed):
    assert StudentId().convert(typed, None, None) == COMPOSED


def test_two_folders_of_one_name_are_told_and_kept(tmp_path):
    for name in (DECOMPOSED, COMPOSED):
        (tmp_path / name).mkdir()
    assert "two folders of this name" in rename_to_nfc(tmp_path)[0]
    assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_an_id_that_nbgrader_has_in_the_other_form_is_changed_with_its_submissions(tmp_path):
    url = f"sqlite:///{tmp_path}/gradebook.db"
    make_gradebook(url)
    with Gradebook(url) as gradebook:
        gradebook.add_assignment(LAB)
        for name in (DECOMPOSED, "ada"):
            gradebook.add_student(name, first_name=name)
            gradebook.add_submission(LAB, name)
        assert len(ids_to_nfc(gradebook)) == 1
        assert [student.id for student in gradebook.students] == ["ada", COMPOSED]
        assert gradebook.find_submission(LAB, COMPOSED).student.first_name == DECOMPOSED
        gradebook.add_student(DECOMPOSED)
        assert "two in the gradebook" in ids_to_nfc(gradebook)[0]


def test_enrolled_in_either_form_it_is_one_student(tmp_path):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    for name in (COMPOSED, f"{DECOMPOSED}=Jos\u00e9 Ruiz"):
        result = room.lockstep("enrol", name)
        assert result.exit_code == 0, result.output
    with Course(room.root).gradebook() as gradebook:
        assert [student.id for student in gradebook.students] == [COMPOSED]
