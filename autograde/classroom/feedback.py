"""Feedback pages: written after a grading, and again where the instructor has changed a score or a comment since.

nbgrader does not note when a score or comment changes. So each page ends with a fingerprint of those that it shows.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path

from nbformat.v4 import new_notebook
from nbgrader.api import MissingEntry, SubmittedNotebook
from nbgrader.preprocessors import AssignLatePenalties
from tqdm import tqdm

from autograde.classroom.errors import StepFailed, describe, printable
from autograde.classroom.nbgrader_course import Course
from autograde.labs.folder import Lab
from course.files import write_whole

END = b"</html>"


def write_feedback(course: Course, lab: Lab, student: str) -> bool:
    """Write a student's feedback page. Returns whether that worked; prints why not."""
    try:
        shown = fingerprint(course, lab, student)
        course.feedback(lab.name, student)
        path = page(course, lab, student)
        write_whole(path, path.read_bytes().rstrip().removesuffix(END) + mark(shown) + END + b"\n")
    except (StepFailed, OSError) as error:
        again = f"`lockstep grade {lab.name}` tries it again"
        tqdm.write(f"{printable(student)}: graded, but its feedback is not written: {error}; {again}")
        return False
    return True


def up_to_date(course: Course, lab: Lab, student: str) -> bool:
    """Whether the feedback is there, complete, and shows the scores and comments of now; True if nothing was graded.

    Computes the late penalty anew.
    """
    graded, written = course.folder("autograded", student, lab.name) / lab.notebook, page(course, lab, student)
    if not graded.exists():
        return True
    settle_penalty(course, lab, student)
    if without_page(course, lab.name, [student]):
        return False
    return written.read_bytes().rstrip().endswith(mark(fingerprint(course, lab, student)) + END)


def without_page(course: Course, lab: str, students: Iterable[str]) -> list[str]:
    """Those of `students` who are graded, and whose feedback is not there, or older than their grading."""
    late = []
    for student in students:
        graded = course.folder("autograded", student, lab) / f"{lab}.ipynb"
        written = course.folder("feedback", student, lab) / f"{lab}.html"
        if graded.exists() and not (written.exists() and written.stat().st_mtime_ns >= graded.stat().st_mtime_ns):
            late.append(student)
    return late


def page(course: Course, lab: Lab, student: str) -> Path:
    """Where a student's feedback is."""
    return course.folder("feedback", student, lab.name) / f"{lab.name}.html"


def mark(shown: str) -> bytes:
    """What a page with this fingerprint ends with, before the last tag."""
    return f"<!-- scores and comments: {shown} -->\n".encode()


def fingerprint(course: Course, lab: Lab, student: str) -> str:
    """A value that changes with the scores, comments and late penalty of a submission; empty if there is none."""
    with course.gradebook() as gradebook:
        try:
            notebook = gradebook.find_submission_notebook(lab.name, lab.name, student)
        except MissingEntry:
            return ""
        scores = sorted((grade.name, grade.score, grade.max_score) for grade in notebook.grades)
        comments = sorted((comment.name, comment.comment or "") for comment in notebook.comments)
        shown = json.dumps([scores, comments, notebook.late_submission_penalty])
    return hashlib.sha256(shown.encode()).hexdigest()[:16]


def penalty_now(course: Course, notebook: SubmittedNotebook) -> float:
    """The points that a graded notebook loses for being late, by the deadline, scores and rule of now: one of them may
    have changed since the penalty in the gradebook was computed."""
    stored, seconds = notebook.late_submission_penalty or 0.0, notebook.assignment.total_seconds_late
    if AssignLatePenalties not in course.config.Autograde.autograde_preprocessors:
        return stored
    if seconds <= 0:
        return 0.0
    student = notebook.assignment.student_id
    try:
        step = AssignLatePenalties(config=course.config)
        step.init_plugin()
        penalty = step.plugin_inst.late_submission_penalty(student, notebook.score, seconds)
        return min(max(0.0, float(penalty or 0.0)), notebook.score)
    except Exception as error:  # the course's own rule for penalties
        tqdm.write(f"{printable(student)}: the late penalty is as it was: {describe(error)}")
        return stored


def settle_penalty(course: Course, lab: Lab, student: str) -> None:
    """Compute the late penalty of a graded submission anew, as a score, deadline or extension may have changed."""
    if AssignLatePenalties not in course.config.Autograde.autograde_preprocessors:
        return
    which = {"notebook": lab.name, "assignment": lab.name, "student": student, "db_url": course.directory.db_url}
    course.wait_until_free()
    quiet = logging.Logger("lockstep.penalties", logging.ERROR)
    try:
        AssignLatePenalties(config=course.config, log=quiet).preprocess(new_notebook(), {"nbgrader": which})
    except MissingEntry:
        return
    except Exception as error:  # the course's own rule for penalties
        tqdm.write(f"{printable(student)}: the late penalty is as it was: {describe(error)}")
