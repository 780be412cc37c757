"""What waits for the instructors of a course, lab by lab: `./lockstep waiting`, and the card on a hub's first page."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.api import Assignment, Grade, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.exchange.default import Exchange
from nbgrader.utils import notebook_hash, parse_utc

from autograde.classroom.grades import submissions, to_be_graded_again
from autograde.classroom.nbgrader_course import Course
from autograde.contract.labs import Lab, find_labs
from autograde.course_map import place
from autograde.term.not_counted import registered
from course.exchange.names import SECRET, TIMESTAMP, read_name


@dataclass(frozen=True)
class Waiting:
    """What waits of one lab, each as students' ids.

    to_grade: who handed in something newer than what was graded. again: who was graded by points, TODOs or checks that
    have changed since. to_read: who has an answer, or a whole notebook, that a person must read. to_release: whose
    feedback is not in the exchange, or is older than what was written last; who waits for something else first is not
    among them.
    """

    name: str
    title: str
    to_grade: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    to_read: tuple[str, ...] = ()
    to_release: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line."""
        counts = (
            (self.to_grade, "to grade"),
            (self.again, "to grade again"),
            (self.to_read, "to read"),
            (self.to_release, "with feedback to release"),
        )
        what = ", ".join(f"{len(who)} {kind}" for who, kind in counts if who)
        return f"{self.name}: {what or 'nothing waits'}"


def waiting(root: Path) -> list[Waiting]:
    """What waits in the course at `root`, by lab in its order. Raises LabError, StepFailed."""
    course = Course(root)
    return [of_lab(course, lab) for lab in find_labs(root)]


def of_lab(course: Course, lab: Lab) -> Waiting:
    """What waits of one lab."""
    handed_in = inbound(course, lab)
    collected = {student: course.folder("submitted", student, lab.name) for student in submissions(course, lab)}
    graded = {student for student in collected if graded_notebook(course, lab, student).exists()}
    to_grade = {
        student
        for student, folder in collected.items()
        if time_of(folder) != time_of(graded_folder(course, lab, student))
    }
    to_grade |= {student for student in collected if student not in graded}
    for student, when in handed_in.items():
        if student not in collected or newer(when, time_of(collected[student])):
            to_grade.add(student)
    known = bool(graded) and registered(course, lab)
    again = set(to_be_graded_again(course, lab)) - to_grade if known else set()
    to_read = read_by_hand(course, lab) & graded if known else set()
    settled = graded - to_read - to_grade - again
    to_release = [student for student in settled if not released(course, lab, student)]
    kinds = (to_grade, again, to_read, to_release)
    return Waiting(lab.name, place(lab).title, *(tuple(sorted(each)) for each in kinds))


def inbound(course: Course, lab: Lab) -> dict[str, datetime]:
    """When students last handed in through the exchange, naive UTC; empty where this account cannot look."""
    found: dict[str, datetime] = {}
    try:
        names = os.listdir(exchange(course) / "inbound")
    except OSError:
        return found
    for name in filter(None, (read_name(each, lab.name) for each in names)):
        found[name.student] = max(name.when, found.get(name.student, name.when))
    return found


def exchange(course: Course) -> Path:
    """The course's part of the exchange."""
    return Path(Exchange(config=course.config, coursedir=course.directory).root, course.directory.course_id)


def time_of(folder: Path) -> bytes | None:
    """When what is in a submission's folder was handed in, as it is written there; None if it is not."""
    try:
        return (folder / TIMESTAMP).read_bytes().strip()
    except OSError:
        return None


def newer(when: datetime, collected: bytes | None) -> bool:
    """Whether a submission is newer than the collected one."""
    try:
        return collected is None or when > parse_utc(collected.decode())
    except (ValueError, OverflowError):
        return True


def graded_folder(course: Course, lab: Lab, student: str) -> Path:
    """Where a student's graded submission is."""
    return course.folder("autograded", student, lab.name)


def graded_notebook(course: Course, lab: Lab, student: str) -> Path:
    """The notebook in it."""
    return graded_folder(course, lab, student) / lab.notebook


def read_by_hand(course: Course, lab: Lab) -> set[str]:
    """Who has an answer with points that a person must read, by the gradebook."""
    with course.gradebook() as gradebook:
        found = (
            gradebook.db.query(Student.id)
            .join(SubmittedAssignment, SubmittedAssignment.student_id == Student.id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .filter(Assignment.name == lab.name, Grade.needs_manual_grade, Grade.max_score > 0)
        )
        return {student for (student,) in found.distinct()}


def released(course: Course, lab: Lab, student: str) -> bool:
    """Whether a graded student's feedback was given back as it is now; also true where it cannot go by the exchange."""
    page = course.folder("feedback", student, lab.name) / f"{lab.name}.html"
    try:
        secret = (course.folder("submitted", student, lab.name) / SECRET).read_text()
    except OSError:
        return True  # came by mail: nobody can release it
    given = exchange(course) / "feedback" / f"{notebook_hash(secret=secret, notebook_id=lab.name)}.html"
    try:
        return given.stat().st_mtime_ns >= page.stat().st_mtime_ns
    except OSError:
        return False


def plain(found: Iterable[Waiting]) -> list[dict[str, str | int]]:
    """As plain JSON, with numbers of students."""
    return [
        {
            "name": each.name,
            "title": each.title,
            "to_grade": len(each.to_grade),
            "again": len(each.again),
            "to_read": len(each.to_read),
            "to_release": len(each.to_release),
        }
        for each in found
    ]
