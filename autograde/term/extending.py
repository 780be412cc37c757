"""`lockstep extend`: more time for one student, for a lab or for all.

Deadline, late penalty, collecting and the reports respect it.
nbgrader keeps an extension with the student's submission, so the gradebook gets one before there is anything handed in.
It counts as one in the formgrader's number of submissions; `grades.csv` and the reports still say "no submission".
"""

from __future__ import annotations

import difflib
import re
import warnings
from datetime import UTC, datetime, time, timedelta, tzinfo
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.exchange.default import Exchange
from sqlalchemy.exc import SAWarning

from autograde.classroom.errors import StepFailed, printable
from autograde.classroom.feedback import settle_penalty
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.submissions.times import later
from autograde.labs.folder import find_lab, find_labs
from autograde.making.build import build, write_instructor
from course.exchange.due import duration, extension_file
from course.exchange.extensions import write_extension

SPAN = re.compile(r"(\d{1,4}) ?(h|d|w)")
DAYS = {"h": 0, "d": 1, "w": 7}
NONE = "none"


def extend(root: Path, name: str, student: str, until: str) -> list[str]:
    """Give a student more time for the lab called `name` of the course at `root`. Returns what to say, line by line.

    until: a span after the class's deadline, as "3d", "12h" or "1w"; a date, to the end of that day, or a date and
    time, local ones; or "none", which takes an extension away. It replaces an earlier one. Raises LabError, and
    StepFailed for a student or a time that cannot be; then nothing is changed.
    """
    lab = find_lab(root, name)
    course = Course(root)
    course.wait_until_free()
    if not course.knows(lab.name):  # a submission in the gradebook has the lab's cells
        write_instructor(build(lab), root)
        course.register(lab.name)
    with course.gradebook() as gradebook:
        common = gradebook.find_assignment(lab.name).duedate
        if common is None:
            raise StepFailed(f"{lab.name} has no deadline that could be extended; set one in the formgrader first")
        refuse_unknown(gradebook, student)
        own = common if until == NONE else end_of(until, common, course.zone)
        refuse_useless(gradebook, lab.name, student, until, common, own)
        set_extension(gradebook, lab.name, student, own - common)
    settle_penalty(course, lab, student)
    more = f", {duration(own - common)} after the class's" if own > common else ", as the class's"
    said = [f"{printable(student)}: the deadline of {lab.name} is {own:%Y-%m-%d %H:%M:%S} UTC{more}"]
    if (course.folder("autograded", student, lab.name) / lab.notebook).exists():
        said.append(f"the late penalty is computed anew; `lockstep grade {lab.name} --student ID` updates the feedback")
    return said + shown(course, lab.name, student, own if own > common else None)


def extend_everywhere(root: Path, student: str, until: str) -> list[str]:
    """What `extend` does, for each lab of the course that has a deadline. Returns what to say, line by line.

    A lab whose deadline cannot be that one, as it would be over, is named and stays as it is. Raises LabError, and
    StepFailed if nothing is changed.
    """
    said, refused = [], []
    course = Course(root)
    course.wait_until_free()
    with course.gradebook() as gradebook:
        refuse_unknown(gradebook, student)
        dated = {each.name for each in gradebook.assignments if each.duedate is not None}
    for lab in find_labs(root):
        if lab.name in dated:
            try:
                said += extend(root, lab.name, student, until)
            except StepFailed as error:
                refused.append(f"{lab.name}: {error}")
    if not said:
        raise StepFailed(
            "; ".join(refused) or "no lab has a deadline that could be extended; set one in the formgrader first"
        )
    return said + refused


def refuse_unknown(gradebook: Gradebook, student: str) -> None:
    """Raise StepFailed if the gradebook does not know the student."""
    known = [one.id for one in gradebook.students]
    if student not in known:
        others = [each for each in known if each.casefold() == student.casefold()]
        close = others or difflib.get_close_matches(student, known, 1)
        hint = f"do you mean {printable(close[0])}?" if close else "`lockstep enrol ID` adds a student"
        raise StepFailed(f"no student {printable(student)} in the gradebook; {hint}")


def end_of(until: str, common: datetime, zone: tzinfo) -> datetime:
    """When an extension ends, naive UTC. zone: of the course. Raises StepFailed for what is no time."""
    try:
        if span := SPAN.fullmatch(until.strip()):
            number, days = int(span[1]), DAYS[span[2]]
            return later(common, number * days, 0 if days else number, zone)
        local = datetime.fromisoformat(until.strip())
        if re.fullmatch(r"[\d-]+", until.strip()):
            local = datetime.combine(local, time(23, 59, 59))
        return (local if local.tzinfo else local.replace(tzinfo=zone)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        raise StepFailed(
            f"{printable(until)} is no time: say 3d, 12h, 1w, 2027-01-31, 2027-01-31T18:00 or none"
        ) from None


def refuse_useless(gradebook: Gradebook, lab: str, student: str, until: str, common: datetime, own: datetime) -> None:
    """Raise StepFailed for a deadline before the class's, or one that is over for who has handed in nothing."""
    if until != NONE and own <= common:
        raise StepFailed(f"{own} UTC is not after the class's deadline, {common} UTC; nothing is changed")
    try:
        handed_in = gradebook.find_submission(lab, student).timestamp is not None
    except MissingEntry:
        handed_in = False
    if until != NONE and not handed_in and own < datetime.now(UTC).replace(tzinfo=None):
        raise StepFailed(
            f"{own} UTC is over, and {printable(student)} has handed in nothing that is graded; nothing is changed"
        )


def set_extension(gradebook: Gradebook, lab: str, student: str, span: timedelta) -> None:
    """Put an extension into the gradebook; none takes it away."""
    try:
        gradebook.find_submission(lab, student)
    except MissingEntry:
        if not span:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # harmless ones from nbgrader itself
            submission = gradebook.add_submission(lab, student)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                grade.needs_manual_grade = False  # there is nothing to look at yet
    gradebook.grant_extension(lab, student, days=span.days, minutes=span.seconds / 60)  # hours would lose seconds


def shown(course: Course, lab: str, student: str, own: datetime | None) -> list[str]:
    """Show the extension to the student in the exchange, if the lab is released there. Returns what to say."""
    exchange, name = Exchange(config=course.config).root, course.directory.course_id
    if not Path(exchange, name, "outbound", lab).is_dir():
        return []  # the release will show it
    try:
        seen = write_extension(extension_file(exchange, name, lab, student), student, own)
    except OSError as error:
        return [f"it counts, but is not shown in the exchange: {error.strerror or error}; tell the student yourself"]
    return (
        [] if seen else ["it counts, but the exchange cannot show it to this student alone; tell the student yourself"]
    )
