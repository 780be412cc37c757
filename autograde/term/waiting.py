"""How each lab of a course stands, and what waits for its instructors: `./lockstep waiting`, and the card on a hub."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from nbgrader.api import Assignment, Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.exchange.default import Exchange
from nbgrader.utils import notebook_hash, parse_utc

from autograde.classroom.grades import submissions, to_be_graded_again
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.release.old_text import stamp_now
from autograde.classroom.runs.progress import read
from autograde.labs.folder import Lab, LabError, find_labs
from autograde.making.course_map import title_of
from autograde.term.not_counted import has_gradebook
from course.corrections.releases import released_stamp
from course.exchange.due import deadline_file, read_time
from course.exchange.handed_in.inbound import last_hand_ins
from course.exchange.names import SECRET, TIMESTAMP

KINDS = ("handed_in", "graded", "given", "to_grade", "again", "to_read", "to_release")  # of students, in Waiting


@dataclass(frozen=True)
class Waiting:
    """How one lab stands, and what of it waits; who, as students' ids.

    released: whether students can fetch it. changed: whether what they get would differ if it was released now. due:
    the class's deadline, by the gradebook; shown: the one that students see since the last release; both in the
    course's zone. students: how many the class has. graded: whose mark is as it would be now. given: whose feedback is
    in the exchange as it is now.

    to_grade: who handed in something newer than what was graded. again: who was graded by points, TODOs or checks that
    have changed since. to_read: who has an answer, or a whole notebook, that a person must read. to_release: whose
    feedback is not in the exchange, or is older than what was written last; who waits for something else first is not
    among them. texts: whether there are answers in words, of somebody who is graded. grading: how far a grading is that
    runs, in words; empty if none does. chosen: of whose hand-ins one counts by an instructor's choice.
    """

    name: str
    title: str
    released: bool = False
    due: datetime | None = None
    shown: datetime | None = None
    students: int = 0
    handed_in: tuple[str, ...] = ()
    graded: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    to_grade: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    to_read: tuple[str, ...] = ()
    to_release: tuple[str, ...] = ()
    texts: bool = False
    grading: str = ""
    chosen: tuple[str, ...] = ()
    changed: bool = False

    @property
    def standing(self) -> list[str]:
        """Where the lab is between its release and its feedback, in words."""
        said = ["released" if self.released else "not released"]
        if self.due:
            said.append(f"due {in_words(self.due)}")
        if self.released and self.shown != self.due:
            seen = f"the deadline {in_words(self.shown)}" if self.shown else "no deadline"
            said.append(f"students see {seen} until it is released again")
        if self.changed:
            said.append("the lab was changed since it was released")
        if self.released or self.handed_in:
            said.append(f"{len(self.handed_in)} of {self.students} handed in")
        if self.handed_in:
            said.append(f"{len(self.graded)} graded")
        if self.chosen:
            said.append(f"for {', '.join(self.chosen)} a hand-in of your choice counts")
        if self.graded:
            said.append(f"feedback released to {len(self.given)}")
        return said

    def __str__(self) -> str:
        """One line."""
        counts = (
            (self.to_grade, "to grade"),
            (self.again, "to grade again"),
            (self.to_read, "to read"),
            (self.to_release, "with feedback to release"),
        )
        what = ", ".join(f"{len(who)} {kind}" for who, kind in counts if who)
        on = f"; {self.grading}" if self.grading else ""
        return f"{self.name}: {', '.join(self.standing)}; {what or 'nothing waits'}{on}"


def in_words(time: datetime) -> str:
    """A time, with its zone."""
    return f"{time:%a} {time.day} {time:%b %Y, %H:%M %Z}"


def waiting(root: Path) -> list[Waiting]:
    """What waits in the course at `root`, by lab in its order. Raises LabError, StepFailed."""
    course = Course(root)
    with opened(course) as gradebook:
        found = [(lab, of_lab(course, lab, gradebook)) for lab in find_labs(root)]
    return [replace(one, changed=one.released and is_changed(course, lab)) for lab, one in found]


def opened(course: Course) -> AbstractContextManager[Gradebook | None]:
    """The open gradebook; None where there is none, and none is made."""
    return course.gradebook() if has_gradebook(course) else nullcontext()


def of_lab(course: Course, lab: Lab, gradebook: Gradebook | None) -> Waiting:
    """What waits of one lab. gradebook: the open one, if there is one."""
    handed_in = inbound(course, lab)
    collected = {student: course.folder("submitted", student, lab.name) for student in submissions(course, lab)}
    graded = {student for student in collected if graded_notebook(course, lab, student).exists()}
    to_grade = {
        student
        for student, folder in collected.items()
        if time_of(folder) != time_of(graded_folder(course, lab, student))
    }
    to_grade |= {student for student in collected if student not in graded}
    chosen = {student: time for student in handed_in if (time := course.chosen(lab.name, student))}
    for student, when in handed_in.items():
        have = time_of(collected[student]) if student in collected else None
        if chosen[student].encode() != have if student in chosen else newer(when, have):
            to_grade.add(student)
    known = bool(gradebook) and any(each.name == lab.name and each.notebooks for each in gradebook.assignments)
    again = set(to_be_graded_again(course, lab, gradebook)) - to_grade if known and graded else set()
    to_read = read_by_hand(gradebook, lab) & graded if known and graded else set()
    feedback = {student: given(course, lab, student) for student in graded - to_read - to_grade - again}
    due = gradebook.find_assignment(lab.name).duedate if known else None
    students = {student.id for student in gradebook.students} if known else set()
    run = read(course.root, lab.name)
    return Waiting(
        lab.name,
        title_of(lab),
        (exchange(course) / "outbound" / lab.name).is_dir(),
        local(due, course.zone),
        local(read_time(deadline_file(exchange(course).parent, exchange(course).name, lab.name)), course.zone),
        len(students | {*collected, *handed_in}),
        tuple(sorted({*collected, *handed_in})),
        tuple(sorted(graded - to_grade - again)),
        tuple(sorted(student for student, page in feedback.items() if page)),
        tuple(sorted(to_grade)),
        tuple(sorted(again)),
        tuple(sorted(to_read)),
        tuple(sorted(student for student, page in feedback.items() if page is False)),
        has_texts(gradebook, lab) if graded and known else False,
        str(run) if run and run.running else "",
        tuple(sorted(chosen)),
    )


def has_texts(gradebook: Gradebook, lab: Lab) -> bool:
    """Whether the lab has answers in words."""
    return any(cell.cell_type == "markdown" for cell in gradebook.find_notebook(lab.name, lab.name).grade_cells)


def is_changed(course: Course, lab: Lab) -> bool:
    """Whether what is built of a lab now differs from what is released; False of one that cannot be built."""
    released = released_stamp(exchange(course).parent, exchange(course).name, lab.name)
    with suppress(LabError):
        return bool(released) and released != stamp_now(course.root, lab)
    return False


def local(time: datetime | None, zone: tzinfo) -> datetime | None:
    """A naive time in UTC, in a zone; None for None."""
    return time.replace(tzinfo=UTC).astimezone(zone) if time else None


def inbound(course: Course, lab: Lab) -> dict[str, datetime]:
    """When students last handed in through the exchange, naive UTC; empty where this account cannot look."""
    found = last_hand_ins(exchange(course) / "inbound", lab.name)
    return {student: last.name.when for student, last in found.items()}


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


def read_by_hand(gradebook: Gradebook, lab: Lab) -> set[str]:
    """Who has an answer with points that a person must read, by the gradebook."""
    found = (
        gradebook.db.query(Student.id)
        .join(SubmittedAssignment, SubmittedAssignment.student_id == Student.id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .filter(Assignment.name == lab.name, Grade.needs_manual_grade, Grade.max_score > 0)
    )
    return {student for (student,) in found.distinct()}


def given(course: Course, lab: Lab, student: str) -> bool | None:
    """Whether a graded student's feedback was given back as it is now; None where it cannot go by the exchange."""
    page = course.folder("feedback", student, lab.name) / f"{lab.name}.html"
    try:
        secret = (course.folder("submitted", student, lab.name) / SECRET).read_text()
    except OSError:
        return None  # came by mail: nobody can release it
    released = exchange(course) / "feedback" / f"{notebook_hash(secret=secret, notebook_id=lab.name)}.html"
    try:
        return released.stat().st_mtime_ns >= page.stat().st_mtime_ns
    except OSError:
        return False


def plain(found: Iterable[Waiting]) -> list[dict[str, str | int | bool | list[str]]]:
    """As plain JSON, with numbers of students. standing: in words."""
    return [
        {
            "name": each.name,
            "title": each.title,
            "released": each.released,
            "due": each.due is not None,
            "changed": each.changed,
            "unseen": each.released and each.shown != each.due,
            "standing": each.standing,
            "texts": each.texts,
            "grading": each.grading,
            **{kind: len(getattr(each, kind)) for kind in KINDS},
        }
        for each in found
    ]
