"""`lockstep enrol --students FILE`: a class goes into the gradebook from the list that the university has of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from autograde.classroom.nbgrader_course import Course, StepFailed, printable, unusable
from autograde.term.student_list import BY_ID, CANVAS_ID, EMAIL, NUMBER, SIS_USER, names_in, people_lines, refuse_twice


@dataclass(frozen=True)
class Entry:
    """A student on a list. email, lms_id: empty if the list has none."""

    student: str
    first: str
    last: str
    email: str
    lms_id: str


def read_roster(path: Path) -> tuple[list[Entry], str, list[str]]:
    """The students on the list at `path`, the heading of their ids, and the names of people without. Raises StepFailed.

    A column `id` has the ids in this course; without one they are in that of the usual columns which most have, the
    first of these.
    """
    lines = people_lines(path)
    has = Counter(heading for line in lines for heading, text in line.items() if text)
    heading = "id" if has["id"] else max((*BY_ID, EMAIL), key=lambda each: has[each])
    entries, without = [], []
    for line in lines:
        first, last = names_in(line)
        if student := line.get(heading, ""):
            lms_id = line.get(CANVAS_ID) or line.get(NUMBER) or line.get(SIS_USER) or ""
            entries.append(Entry(student, first, last, line.get(EMAIL, ""), lms_id))
        else:
            without.append(f"{first} {last}".strip() or "?")
    students = [entry.student for entry in entries]
    refuse_twice(path, students)
    for student in students:
        if unusable(student) or "/" in student or student.startswith("."):
            raise StepFailed(
                f"{path}: {student!a} in column {heading} cannot be an id; ids name folders, so put others into a "
                "column called id"
            )
    return entries, heading, without


def enrol_list(course: Course, path: Path) -> list[str]:
    """Enrol everybody on the list at `path`. Returns what the instructor should know, a line each. Raises StepFailed.

    Who is enrolled already gets the e-mail address and LMS id of the list, and keeps the name.
    """
    entries, heading, without = read_roster(path)
    with course.gradebook() as gradebook:
        known = {each.id: each for each in gradebook.students}
        for entry in entries:
            facts = {"email": entry.email, "lms_user_id": entry.lms_id}
            before = known.get(entry.student)
            if before is None or (not before.first_name and before.last_name in (None, "", entry.student)):
                facts |= {"first_name": entry.first, "last_name": entry.last or ("" if entry.first else entry.student)}
            gradebook.update_or_create_student(entry.student, **{key: text for key, text in facts.items() if text})
    new = len({entry.student for entry in entries} - {*known})
    notes = [f"{len(entries)} on the list, {new} of them new; their ids are from the column {heading}"]
    return notes + ([f"without one, so not enrolled: {'; '.join(map(printable, without))}"] if without else [])
