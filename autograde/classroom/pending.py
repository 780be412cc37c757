"""Which submissions are to be graded, and why some of them again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import click
from nbformat import NotebookNode
from nbgrader.api import Grade, MissingEntry
from nbgrader.utils import parse_utc

from autograde.classroom import grades
from autograde.classroom.errors import StepFailed, describe, printable, unusable
from autograde.classroom.grades import MAX_TIMESTAMP, timestamp
from autograde.classroom.measure import Measure, measure_of, why_again
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.submissions.submission import Submission, read_submission, to_grade
from autograde.classroom.submissions.times import FORMAT, utc_time
from autograde.labs.folder import Lab, LoadedLab
from course.exchange.names import TIMESTAMP
from course.files import Unreadable, read_plain, write_whole


def read_all(
    course: Course, lab: LoadedLab, released: NotebookNode, students: Iterable[str], force: bool
) -> tuple[dict[str, Submission], dict[str, str], dict[str, str]]:
    """The submissions to grade, why others cannot be graded, which is also printed, and why some were graded before
    and are graded again; all by student. released: the lab's notebook as students got it."""
    found: dict[str, Submission] = {}
    failed: dict[str, str] = {}
    reasons: dict[str, str] = {}
    now = measure_of(lab)
    for student in students:
        try:
            if submission := to_be_graded(course, lab, student, released, now, reasons, force):
                found[student] = submission
        except Exception as error:
            failed[student] = str(error) if isinstance(error, StepFailed) else describe(error)
            click.echo(f"{printable(student)}: not graded: {failed[student]}")
    return found, failed, reasons


def about_again(reasons: dict[str, str]) -> list[str]:
    """What to say of submissions that were graded before, a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for student, reason in reasons.items():
        by_reason.setdefault(reason, []).append(printable(student))
    return [f"graded again, as {reason}: {'; '.join(students)}" for reason, students in by_reason.items()]


def waits_with_score(course: Course, lab: Lab, student: str) -> bool:
    """Whether a person has to look at a score that a person gave."""
    given = grades_of(course, lab, student).values()
    return any(grade.needs_manual_grade and grade.manual_score is not None for grade in given)


def grades_of(course: Course, lab: Lab, student: str) -> dict[str, Grade]:
    """The grades in the gradebook, by cell; empty if the student has none."""
    with course.gradebook() as gradebook:
        try:
            notebook = gradebook.find_submission_notebook(lab.name, lab.name, student)
        except MissingEntry:
            return {}
        return {grade.name: grade for grade in notebook.grades if grade.max_score is not None}


def to_be_graded(
    course: Course,
    lab: LoadedLab,
    student: str,
    released: NotebookNode,
    now: Measure,
    reasons: dict[str, str],
    force: bool,
) -> Submission | None:
    """Read a student's submission. Returns None if this very one has been graded completely, unless `force`.

    now: the lab's measure. What was measured otherwise is graded again, and `reasons` gets why, by student. Raises
    StepFailed if nbgrader cannot grade it, OSError.
    """
    if reason := unusable(student) or bad_timestamp(course, lab, student):
        raise StepFailed(reason)
    folder = course.folder("submitted", student, lab.name)
    handed_in = read_submission(folder / lab.notebook)
    before = grades.notes(course, lab, student)
    same = before is not None and before.submission == handed_in.fingerprint
    if same and timestamp(folder) == timestamp(course.folder("autograded", student, lab.name)):
        reason = why_again(before, grades_of(course, lab, student), now, handed_in=True)
        if not (reason or force):
            return None
        if reason:
            reasons[student] = reason
    return replace(to_grade(lab, folder, handed_in, released), again=same and handed_in.raw is not None)


def bad_timestamp(course: Course, lab: Lab, student: str) -> str | None:
    """Why nobody can read when the submission was handed in; None if one can.

    Writes it in UTC where nbgrader would take it for another time.
    """
    path = course.folder("submitted", student, lab.name) / TIMESTAMP
    try:
        text = read_plain(path, MAX_TIMESTAMP).decode().strip()
        moment = utc_time(text, course.zone) if text else None
        if moment and reads_otherwise(text, moment):
            write_whole(path, moment.strftime(FORMAT).encode())
    except FileNotFoundError:
        return None
    except (Unreadable, UnicodeDecodeError, OSError):
        return f"{path} is not a date and time; correct or delete it"
    except ValueError as error:
        return f"{path} {error}; correct or delete it"
    return None


def reads_otherwise(text: str, moment: datetime) -> bool:
    """Whether nbgrader takes this text for another time."""
    try:
        return parse_utc(text) != moment
    except (ValueError, OverflowError):
        return True
