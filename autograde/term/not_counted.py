"""What was handed in, and totals do not count: labs that were renamed or left out, or that the gradebook has lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import SubmittedAssignment
from sqlalchemy.engine import make_url

from autograde.classroom import grades
from autograde.classroom.nbgrader_course import Course
from autograde.labs.folder import Lab


@dataclass(frozen=True)
class NotCounted:
    """A lab that is not counted, and why. students: who has handed it in."""

    lab: str
    students: frozenset[str]
    why: str

    def __str__(self) -> str:
        return f"{self.lab}: {self.why}"


def not_counted(course: Course, labs: list[Lab]) -> list[NotCounted]:
    """What is not counted. labs: all of the course."""
    found = []
    if has_gradebook(course):
        found += without_lab(course, {lab.name for lab in labs})
    for lab in labs:
        if not registered(course, lab):
            before = grades.submissions(course, lab, course.directory.autograded_directory)
            if handed_in := {*grades.submissions(course, lab), *before, *course.in_exchange(lab.name)}:
                why = f"{len(handed_in)} handed in, not counted: not in the gradebook; run `lockstep grade {lab.name}`"
                found.append(NotCounted(lab.name, frozenset(handed_in), why))
    return found


def registered(course: Course, lab: Lab) -> bool:
    """Whether the lab is in the gradebook. Creates no gradebook."""
    return has_gradebook(course) and course.knows(lab.name)


def has_gradebook(course: Course) -> bool:
    """Whether there is a gradebook. Creates none."""
    url = make_url(course.directory.db_url)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").exists()


def without_lab(course: Course, labs: set[str]) -> list[NotCounted]:
    """What was handed in for assignments of the gradebook that are none of `labs`."""
    found = []
    with course.gradebook() as gradebook:
        for assignment in gradebook.assignments:
            graded = {each.student_id for each in assignment.submissions if has_scores(each)}
            handed_in = graded | {each.student_id for each in assignment.submissions if each.timestamp}
            if assignment.name not in labs and handed_in:
                why = (
                    f"{len(graded)} graded, not counted: no lab of this course now; its marks count where the lab has "
                    "this name again, or course.toml chooses it"
                )
                found.append(NotCounted(assignment.name, frozenset(handed_in), why))
    return found


def has_scores(submission: SubmittedAssignment) -> bool:
    """Whether anything in a submission has a score."""
    grades_of = (grade for notebook in submission.notebooks for grade in notebook.grades)
    return any((grade.auto_score, grade.manual_score) != (None, None) for grade in grades_of)
