"""How each student of a class did in a lab, from the gradebook and the class's folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from nbgrader.api import MissingEntry
from sqlalchemy.engine import make_url

from autograde.classroom import grades
from autograde.classroom.errors import StepFailed
from autograde.classroom.grades import Row
from autograde.classroom.measure import Measure
from autograde.classroom.nbgrader_course import Course
from autograde.contract.result import Finding, Result
from autograde.hints import read_taken
from autograde.labs.folder import Lab
from autograde.sandbox.examine import Marked
from course.exchange.due import duration


@dataclass
class Student:
    """One row of the table of scores.

    by_todo: the marks; empty if the student was not graded, or what was handed in cannot be read. feedback: a link to
    it. manual: why a person must look at the whole notebook, if so. hints: how many were unfolded, by TODO, as the note
    that was handed in has it.
    """

    row: Row
    by_todo: dict[str, Marked]
    feedback: str | None
    manual: str | None
    hints: dict[str, int] = field(default_factory=dict)

    def result(self, todo: str) -> Result | None:
        """The result for a TODO, if it was judged."""
        return self.by_todo[todo].result if todo in self.by_todo else None

    def findings(self, todo: str) -> list[Finding]:
        """The findings on a TODO."""
        result = self.result(todo)
        return result.findings if result else []

    @property
    def late(self) -> str:
        """How late it was handed in, if it was."""
        return duration(timedelta(seconds=self.row.seconds_late)) if self.row.seconds_late else ""


def refuse_ungraded(course: Course, lab: Lab) -> None:
    """Raise StepFailed if the gradebook does not know the lab. Creates no gradebook."""
    url = make_url(course.directory.db_url)
    known = url.get_backend_name() != "sqlite" or Path(url.database or "").exists()
    if known:
        with course.gradebook() as gradebook:
            try:
                gradebook.find_assignment(lab.name)
            except MissingEntry:
                known = False
    if not known:
        raise StepFailed(f"{lab.name} was never graded in this class; run `lockstep grade {lab.name}` first")


def class_of(course: Course, lab: Lab, now: Measure) -> list[Student]:
    """All students of the course, in order of id. now: the lab's measure."""
    handed_in = grades.submissions(course, lab)
    rows = grades.collect_rows(course, lab, now, handed_in, grades.failures(course, lab, handed_in))
    students = []
    for row in rows:
        notes = grades.notes(course, lab, row.student)
        manual = notes.manual if notes else None
        marked = notes.marked if notes and not manual else []
        feedback = feedback_link(course, lab, row.student)
        hints = read_taken(course.folder("submitted", row.student, lab.name))
        students.append(Student(row, {mark.todo: mark for mark in marked}, feedback, manual, hints))
    return students


def feedback_link(course: Course, lab: Lab, student: str) -> str | None:
    """The path of a student's feedback, relative to the report; None if there is none."""
    page = course.folder("feedback", student, lab.name) / f"{lab.name}.html"
    return quote(os.path.relpath(page, grades.csv_path(course, lab).parent)) if page.exists() else None
