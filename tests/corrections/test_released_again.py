"""A lab is released again: who has the old text is said, and a new deadline reaches students."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from changing_lab import without_sandboxes
from corrected_lab import Released
from nbgrader.apps.api import NbGraderAPI
from small_course import ANSWERS, LAB

from autograde.classroom.class_grading import class_lock
from autograde.classroom.nbgrader_course import Course
from autograde.term.waiting import plain, waiting
from course.exchange.due import read_deadline

COURSE = "lockstep"
TYPO = ("# Now with ranks.", "# Now with several ranks.")


def state(room: Released) -> dict:
    """How the lab stands, as the card gets it."""
    (lab,) = json.loads(json.dumps(plain(waiting(room.root))))
    return lab


def hand_in(room: Released, student: str) -> None:
    """Hand in the lab as it is released now."""
    released = room.exchange / COURSE / "outbound" / LAB / f"{LAB}.ipynb"
    room.submit(student, released.read_bytes())


def test_releasing_again_says_what_was_changed_and_who_handed_in_the_old_text(room):
    assert room.release() == f"{LAB}: released; it has no deadline\n"
    assert not state(room)["changed"]
    hand_in(room, "ada")
    hand_in(room, "bob")
    room.correct(TYPO)
    assert state(room)["changed"] and "the lab was changed since it was released" in state(room)["standing"]
    said = room.release()
    assert re.search(rf"{LAB}: corrected since [\d-]+ [\d:]+ UTC: 1 cell of text\n", said)
    assert f"{LAB}: 2 of 2 who handed in have the old text: ada, bob\n" in said
    assert re.search(
        rf"{LAB}: whoever fetched it before [\d-]+ [\d:]+ UTC keeps the old text; on a hub, Your labs", said
    )
    assert said.endswith(f"{LAB}: released again; it has no deadline\n") and not state(room)["changed"]
    hand_in(room, "bob")
    said = room.release()
    assert (
        f"{LAB}: the text is as it was released at " in said and "1 of 2 who handed in have the old text: ada\n" in said
    )
    lab = room.root / "solutions" / LAB / "lab.py"
    lab.write_text(lab.read_text().replace("nobody has thought of this before", "somebody has"))
    assert not state(room)["changed"], "students do not see the answer"


def test_nbgraders_own_ways_say_it_too(room):
    room.release()
    hand_in(room, "ada")
    room.correct(TYPO)
    course = Course(room.root)
    api = NbGraderAPI(coursedir=course.directory, config=course.config)
    done = api.release_assignment(LAB)
    assert not done["success"] and f"{LAB} is released already. To release it again: `./lockstep release" in done["log"]
    assert len(done["log"].splitlines()) < 4, "nothing hides it"
    api.unrelease(LAB)
    done = api.release_assignment(LAB)
    assert done["success"] and "1 of 1 who handed in have the old text: ada" in done["log"]
    assert len(done["log"].splitlines()) < 10


@pytest.mark.thorough
def test_nbgraders_command_says_it_too(room):
    room.release()
    room.correct(TYPO)
    done = room.nbgrader("release_assignment", LAB)
    assert done.returncode == 1 and "is released already" in done.stderr
    done = room.nbgrader("release_assignment", LAB, "--force")
    assert done.returncode == 0 and "corrected since" in done.stderr and "keeps the old text" in done.stderr


@pytest.mark.thorough
def test_a_deadline_is_set_with_the_release_and_students_see_it(room, monkeypatch):
    without_sandboxes(monkeypatch)
    assert "; students see the deadline Sat 31 Jan 2099, 18:00 " in room.release("--deadline=2099-01-31T18:00")
    zone = Course(room.root).zone
    due = datetime(2099, 1, 31, 18, tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
    assert read_deadline(room.exchange, COURSE, LAB, "ada") == due
    room.release("--deadline", "3d")
    assert read_deadline(room.exchange, COURSE, LAB, "ada") == due + timedelta(days=3)
    assert not state(room)["unseen"]
    with room.gradebook() as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2024-12-31 10:00:00 UTC")
    assert state(room)["unseen"]
    assert "deadline Tue 31 Dec 2024" in room.release(), "without a time, that of the gradebook"
    for wrong, why in (("soon", "soon is no time: say 3d"), ("2020-01-01", "Wed 1 Jan 2020, 23:59 UTC is over")):
        done = room.lockstep("release", LAB, "--deadline", wrong)
        assert done.exit_code == 1 and why in done.output.replace(f"{datetime.now(zone):%Z}", "UTC")
    assert room.put("ada", room.answered(ANSWERS)) and room.grade().exit_code == 0
    assert "late penalties are computed anew" in room.release("--deadline", "none")
    assert read_deadline(room.exchange, COURSE, LAB, "ada") is None
    with class_lock(Course(room.root)):
        assert "another grading of this class is running" in room.lockstep("release", LAB).output
    assert "no lab" in room.lockstep("release", "99_none").output.lower()
