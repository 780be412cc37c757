"""`lockstep feedback`: gives a lab's feedback to all who are graded, as scores and comments are now."""

from __future__ import annotations

import logging
from pathlib import Path

from nbgrader.exchange import ExchangeFactory

from autograde.classroom.class_grading import class_lock
from autograde.classroom.errors import StepFailed, describe, printable
from autograde.classroom.feedback import up_to_date, write_feedback
from autograde.classroom.grades import submissions
from autograde.classroom.nbgrader_course import Course, changed
from autograde.labs.folder import find_lab
from autograde.term.waiting import graded_notebook, of_lab, opened


class Lines(logging.Handler):
    """Keeps what nbgrader warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message."""
        self.lines.append(" ".join(record.getMessage().split()))


def give_back(root: Path, name: str) -> list[str]:
    """Write the feedback again that is not as scores and comments are, and release all that may be released.

    Returns what to say, line by line: how many have theirs, and who has not and why. Raises LabError, StepFailed.
    """
    lab, course = find_lab(root, name), Course(root)
    with class_lock(course):
        if not any(graded_notebook(course, lab, student).exists() for student in submissions(course, lab)):
            raise StepFailed(f"nobody's work on {lab.name} is graded; run `lockstep grade {lab.name}` first")
        old = [student for student in submissions(course, lab) if not up_to_date(course, lab, student)]
        failed = [student for student in old if not write_feedback(course, lab, student)]
        said = exchange_step(course, lab.name, "ReleaseFeedback")
    if written := [printable(student) for student in old if student not in failed]:
        said.insert(0, f"feedback was written, as scores and comments are now: {', '.join(written)}")
    with opened(course) as gradebook:
        now = of_lab(course, lab, gradebook)
    said.append(f"{lab.name}: feedback is released to {len(now.given)} of {len(now.handed_in)} who handed in")
    said += [f"{printable(student)}: there is an answer to be read before the mark is final" for student in now.to_read]
    return said


def exchange_step(course: Course, lab: str, kind: str, **traits: bool) -> list[str]:
    """Take one of nbgrader's steps with the exchange, such as ReleaseFeedback. Returns what it warns of. Raises
    StepFailed."""
    kept, log = Lines(), logging.Logger("lockstep.exchange", logging.WARNING)
    log.addHandler(kept)
    with changed(course.directory, assignment_id=lab):
        factory = ExchangeFactory(config=course.config)
        step = getattr(factory, kind)(coursedir=course.directory, config=course.config, log=log, **traits)
        try:
            step.start()
        except (Exception, SystemExit) as error:
            raise StepFailed("; ".join(kept.lines) or describe(error)) from error
    return kept.lines
