"""`lockstep report` without a lab: one page on all labs of a term, from the gradebook and the class's folder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from sqlalchemy.engine import make_url

from autograde.classroom import grades
from autograde.classroom.class_report import HeatMapRow, Student, class_of, heat_map, templates, write_page
from autograde.classroom.grades import FAILED, GRADED, MANUAL, NOTHING, WAITING
from autograde.classroom.nbgrader_course import Course, StepFailed
from autograde.contract.labs import Lab, find_labs, load_checks
from autograde.contract.places import CLASS
from autograde.hints import load_hints

COMMONEST = 3  # findings of a lab that are shown


@dataclass
class LabOfTerm:
    """A lab, and how the class did in it. deadline: the class's, naive UTC. report: whether the lab's page is there."""

    name: str
    points: float
    todos: list[str]
    students: dict[str, Student]
    deadline: datetime | None
    has_hints: bool
    report: bool

    @cached_property
    def findings(self) -> list[HeatMapRow]:
        """The findings, those that most students have first."""
        return heat_map(list(self.students.values()), self.todos)

    @property
    def handed_in(self) -> list[Student]:
        """Who handed something in."""
        return [student for student in self.students.values() if student.row.status != NOTHING]

    @property
    def scores(self) -> list[float]:
        """Scores of those whose grading is complete."""
        return [student.row.score for student in self.students.values() if student.row.status == GRADED]

    @property
    def took_hints(self) -> int:
        """How many students unfolded a hint."""
        return sum(any(student.hints.get(todo) for todo in self.todos) for student in self.handed_in)

    @property
    def left(self) -> list[str]:
        """Who waits for a person, or for a grading."""
        return [one for one, student in self.students.items() if student.row.status in (MANUAL, FAILED, WAITING)]

    def begun(self, now: datetime) -> bool:
        """Whether it says something about the class: something was handed in, or the deadline is over."""
        return bool(self.handed_in) or (self.deadline is not None and self.deadline < now)

    def missing(self, student: str, now: datetime) -> bool:
        """Whether this student should have handed in by now, and has not."""
        row = self.students[student].row if student in self.students else None
        deadline = row.deadline if row else self.deadline
        return (row is None or row.status == NOTHING) and (deadline is None or deadline < now)


@dataclass
class StudentOfTerm:
    """A student over all labs. missing: names of labs. late: how late, extended: until when, by lab. score: points."""

    student: str
    name: str
    missing: list[str] = field(default_factory=list)
    late: dict[str, str] = field(default_factory=dict)
    extended: dict[str, datetime] = field(default_factory=dict)
    score: float = 0.0


def write_term_report(root: Path) -> Path:
    """Write the page on the term of the course at `root`. Returns its path.

    Raises LabError for a lab that cannot be read, StepFailed if the gradebook has no lab or the page is not written.
    """
    course, now = Course(root), datetime.now(UTC).replace(tzinfo=None)
    labs = [lab_of_term(course, lab) for lab in find_labs(root) if registered(course, lab)]
    if not labs:
        raise StepFailed("no lab was graded in this class; run `lockstep grade LAB` first")
    begun = [lab for lab in labs if lab.begun(now)]
    ids = sorted({student for lab in labs for student in lab.students})
    with course.gradebook() as gradebook:
        known = {one.id: f"{one.first_name or ''} {one.last_name or ''}".strip() for one in gradebook.students}
    students = [student_of_term(one, known.get(one, ""), begun, now) for one in ids]
    page = (
        templates()
        .get_template("term_report.html")
        .render(
            now=now,
            labs=begun,
            to_come=[lab.name for lab in labs if lab not in begun],
            students=students,
            behind=sorted((one for one in students if one.missing or one.late), key=lambda one: -len(one.missing)),
            findings=overall(begun),
            commonest=COMMONEST,
            most=sum(lab.points for lab in begun),
        )
    )
    return write_page(course.root / CLASS / "report.html", page)


def registered(course: Course, lab: Lab) -> bool:
    """Whether the lab is in the gradebook. Creates no gradebook."""
    url = make_url(course.directory.db_url)
    there = url.get_backend_name() != "sqlite" or Path(url.database or "").exists()
    return there and course.knows(lab.name)


def lab_of_term(course: Course, lab: Lab) -> LabOfTerm:
    """How the class did in one lab."""
    checks = load_checks(lab.checks)
    todos = [check.todo for check in checks]
    students = {student.row.student: student for student in class_of(course, lab, todos)}
    with course.gradebook() as gradebook:
        deadline = gradebook.find_assignment(lab.name).duedate
    points = max([student.row.points for student in students.values()], default=0.0)
    return LabOfTerm(
        lab.name,
        points or sum(check.points for check in checks),
        todos,
        students,
        deadline,
        bool(load_hints(lab.folder, todos)),
        grades.csv_path(course, lab).with_name("report.html").exists(),
    )


def student_of_term(one: str, name: str, labs: list[LabOfTerm], now: datetime) -> StudentOfTerm:
    """The student with the id `one` over all labs."""
    found = StudentOfTerm(one, name if name != one else "", [lab.name for lab in labs if lab.missing(one, now)])
    for lab in labs:
        if student := lab.students.get(one):
            if student.late:
                found.late[lab.name] = student.late
            if student.row.extended:
                found.extended[lab.name] = student.row.deadline
            found.score += student.row.score or 0.0
    return found


def overall(labs: list[LabOfTerm]) -> list[tuple[str, set[str], list[str], str]]:
    """All findings over the labs: key, students, labs, an example; those that most students have first."""
    students: dict[str, set[str]] = defaultdict(set)
    where: dict[str, list[str]] = defaultdict(list)
    examples: dict[str, str] = {}
    for lab in labs:
        for row in lab.findings:
            students[row.key] |= row.anywhere
            where[row.key].append(lab.name)
            examples.setdefault(row.key, next(iter(row.examples.values())))
    keys = sorted(students, key=lambda key: (-len(students[key]), key))
    return [(key, students[key], where[key], examples[key]) for key in keys]
