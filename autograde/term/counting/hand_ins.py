"""`lockstep counts`: a student's hand-ins of a lab, and which of them counts. An instructor may choose an earlier one.

The choice is in the exchange, see course/exchange/handed_in/choice.py: collecting takes the one that was chosen, so
deadline, late penalty, marks and reports are those of that one. It is collected at once, so that no mark of another one
is given out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, tzinfo
from pathlib import Path

from nbgrader.utils import parse_utc

from autograde.classroom import grades
from autograde.classroom.class_grading import class_lock
from autograde.classroom.errors import StepFailed, printable
from autograde.classroom.grades import timestamp
from autograde.classroom.measure import measure_now
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.runs.progress import reporter_to_nobody
from autograde.classroom.submissions.collecting import PlainCollect, account
from autograde.labs.folder import Lab, find_lab
from autograde.term.not_counted import registered
from autograde.term.waiting import exchange
from course.exchange.deadlines import Deadlines, deadlines, how_late
from course.exchange.handed_in import inbound
from course.exchange.handed_in.choice import choice_file, write_choice

LAST = "last"


@dataclass(frozen=True)
class HandIn:
    """Something that was handed in.

    time: as nbgrader writes it. shown: in the course's zone. late: how late, in words; empty if it was in time. dated:
    whether the lab has a deadline. graded: as "graded 13.5 of 14", or empty. counts: whether it does. chosen: whether
    that is an instructor's choice.
    """

    time: str
    shown: str
    late: str
    dated: bool
    graded: str
    counts: bool
    chosen: bool

    @property
    def words(self) -> str:
        """What there is to say of it."""
        when = f"{self.late} late" if self.late else "in time" if self.dated else ""
        counts = "counts, by your choice" if self.chosen else "counts" if self.counts else ""
        return ", ".join(filter(None, [when, self.graded, counts])) or "handed in"

    def __str__(self) -> str:
        """One line."""
        return f"{self.shown}: {self.words}"


def hand_ins(course: Course, lab: Lab, student: str) -> list[HandIn]:
    """What a student has handed in of a lab, oldest first. Raises StepFailed if that is nothing."""
    times = times_of(course, lab, student)
    if not times:
        raise StepFailed(f"{printable(student)} has handed in nothing of {lab.name} through the exchange")
    chosen = course.chosen(lab.name, student)
    due = (
        deadlines(course.directory.db_url, course.directory.course_id, lab.name)
        if registered(course, lab)
        else Deadlines(None)
    )
    counts = chosen or times[-1]
    return [
        HandIn(
            time,
            local(time, course.zone),
            how_late(time, due.of(student)),
            due.common is not None,
            graded(course, lab, student, time),
            time == counts,
            time == chosen,
        )
        for time in times
    ]


def times_of(course: Course, lab: Lab, student: str) -> list[str]:
    """The times of what a student has in the exchange, oldest first; of what others put there under this name, none."""
    owned = PlainCollect(coursedir=course.directory, config=course.config).check_owner
    try:
        every = inbound.hand_ins(exchange(course) / "inbound", lab.name)
        named = [each for each in every if each.name.student == student]
        own = [each for each in named if not owned or account(each.path.lstat().st_uid) == student]
    except OSError:
        return []
    return [*dict.fromkeys(each.name.time for each in own)]


def local(time: str, zone: tzinfo) -> str:
    """A time that nbgrader wrote, in a zone."""
    return f"{parse_utc(time).replace(tzinfo=UTC).astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def graded(course: Course, lab: Lab, student: str, time: str) -> str:
    """What the hand-in of this time was graded with; no number where that is not a mark now, and empty where it was not
    graded last."""
    if (timestamp(course.folder("autograded", student, lab.name)) or b"").decode(errors="replace").strip() != time:
        return ""
    now = measure_now(course.root, lab)
    with course.gradebook() as gradebook:
        row = grades.row_of(course, gradebook, lab, student, now)
    return "graded" if row.score is None else f"graded {row.score:g} of {row.points:g}"


def choose(root: Path, name: str, student: str, time: str) -> list[str]:
    """Let a hand-in count, or by "last" the last one again. time: as `find` takes it. Returns what to say, by line.

    Raises LabError; StepFailed, if there is no such one, or grading is running, and then nothing is changed; OSError.
    """
    lab = find_lab(root, name)
    course = Course(root)
    with class_lock(course):
        found = hand_ins(course, lab, student)
        one = found[-1] if time == LAST else find(found, time)
        place = exchange(course)
        seen = write_choice(
            choice_file(place.parent, place.name, lab.name, student), student, "" if time == LAST else one.time
        )
        errors = course.collect(lab.name, reporter_to_nobody(), only=student)[1]
    choice = "the last one, as nothing is chosen any more" if time == LAST else "by your choice"
    said = [f"{printable(student)}: what was handed in at {one.shown} counts for {lab.name}, {choice}"]
    if not seen:
        said.append("it counts, but the exchange cannot show it to this student alone; tell the student yourself")
    if not one.graded:
        said.append(f"it is not graded yet: `lockstep grade {lab.name} --student {printable(student)}` grades it")
    return [*said, *errors]


def find(found: list[HandIn], time: str) -> HandIn:
    """The hand-in that is meant by a part of its time, as listed or as nbgrader writes it. Raises StepFailed."""
    meant = [one for one in found if one.time == time] or [one for one in found if time in one.shown]
    if len(meant) == 1:
        return meant[0]
    listed = "; ".join(one.shown for one in meant or found)
    raise StepFailed(
        f"several were handed in at {printable(time)}: {listed}; say more of the time"
        if meant
        else f"nothing was handed in at {printable(time)}; there are: {listed}"
    )


def plain(found: list[HandIn]) -> list[dict[str, str | bool]]:
    """As plain JSON. words: what there is to say of it."""
    return [{**asdict(one), "words": one.words} for one in found]
