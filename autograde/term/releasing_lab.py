"""`lockstep release`: gives a lab to students, for the first time or again, as its source is now."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from autograde.classroom.class_grading import class_lock
from autograde.classroom.errors import StepFailed
from autograde.classroom.feedback import settle_penalty
from autograde.classroom.grades import submissions
from autograde.classroom.nbgrader_course import Course
from autograde.labs.folder import Lab, LabError, find_lab
from autograde.making.build import Built, build, write, write_instructor
from autograde.term.extending import NONE, end_of
from autograde.term.giving_back import exchange_step
from autograde.term.waiting import exchange, graded_notebook, in_words, local

USUAL = "Removing existing assignment"  # nbgrader's warning whenever cells are registered again


def release(root: Path, name: str, until: str = "") -> list[str]:
    """Build the lab called `name` of the course at `root`, put it into the gradebook, and release it.

    until: its new deadline, as `extend` takes one; a span counts from the deadline that it has, else from now. Returns
    what to say, line by line. Raises LabError and StepFailed.
    """
    lab, course = find_lab(root, name), Course(root)
    built = build(lab)
    with class_lock(course):
        put_into_course(built, root)
        said = [line for line in course.register(lab.name) if not line.startswith(USUAL)]
        if until:
            said += set_deadline(course, lab, until)
        again = (exchange(course) / "outbound" / lab.name).is_dir()
        said += exchange_step(course, lab.name, "ReleaseAssignment", force=again)
    due = local(deadline_of(course, lab), course.zone)
    told = f"students see the deadline {in_words(due)}" if due else "it has no deadline"
    return [*said, f"{lab.name}: released{' again' if again else ''}; {told}"]


def put_into_course(built: Built, root: Path) -> None:
    """Write what is built into the course's folder; work that somebody has in `labs/` stays."""
    try:
        write(built, root)
    except LabError:  # which the release says, too
        write_instructor(built, root)


def set_deadline(course: Course, lab: Lab, until: str) -> list[str]:
    """Set the class's deadline. Returns what to say. Raises StepFailed for a time that cannot be, or is over."""
    now = datetime.now(UTC).replace(tzinfo=None)
    due = None if until.strip() == NONE else end_of(until, deadline_of(course, lab) or now, course.zone)
    if due is not None and due <= now:
        raise StepFailed(f"{in_words(local(due, course.zone))} is over; nothing is changed, and nothing released")
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(lab.name, duedate=due)
    graded = [one for one in submissions(course, lab) if graded_notebook(course, lab, one).exists()]
    for student in graded:
        settle_penalty(course, lab, student)
    return (
        [f"late penalties are computed anew; `lockstep feedback {lab.name}` gives them to students"] if graded else []
    )


def deadline_of(course: Course, lab: Lab) -> datetime | None:
    """The class's deadline, naive UTC."""
    with course.gradebook() as gradebook:
        return gradebook.find_assignment(lab.name).duedate
