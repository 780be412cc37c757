"""How a class stands in all labs of a term, from the gradebook and the class's folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from autograde.classroom import grades
from autograde.classroom.errors import StepFailed
from autograde.classroom.grades import AGAIN, FAILED, GRADED, MANUAL, NOTHING, WAITING, about_again
from autograde.classroom.measure import measure_now
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.reports.class_report import HeatMapRow, heat_map
from autograde.classroom.reports.students import Student, class_of
from autograde.hints import load_hints
from autograde.labs.folder import Lab, find_labs
from autograde.term.not_counted import NotCounted, not_counted, registered
from autograde.term.total import Reached, Rule, Sum, rule_of, total


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
        return [one for one, student in self.students.items() if student.row.status in (AGAIN, MANUAL, FAILED, WAITING)]

    def begun(self, now: datetime) -> bool:
        """Whether it says something about the class: something was handed in, or the deadline is over."""
        return bool(self.handed_in) or (self.deadline is not None and self.deadline < now)

    def deadline_of(self, student: str) -> datetime | None:
        """A student's own deadline."""
        return self.students[student].row.deadline if student in self.students else self.deadline

    def missing(self, student: str, now: datetime) -> bool:
        """Whether this student should have handed in by now, and has not."""
        row, deadline = self.students[student].row if student in self.students else None, self.deadline_of(student)
        return (row is None or row.status == NOTHING) and (deadline is None or deadline < now)


@dataclass
class StudentOfTerm:
    """A student over all labs.

    missing: names of labs. late: how late, extended: until when, waiting: the status of what is not graded completely,
    by lab. open: labs with nothing handed in and time left. reached: where something is graded, or missing.
    """

    student: str
    name: str
    missing: list[str] = field(default_factory=list)
    late: dict[str, str] = field(default_factory=dict)
    extended: dict[str, datetime] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    reached: list[Reached] = field(default_factory=list)
    total: Sum = field(default_factory=lambda: Sum(None))


@dataclass
class Term:
    """All labs of a course, and its students.

    begun: the labs that say something about the class. not_counted: what was handed in and is none of its labs.
    """

    course: Course
    labs: list[LabOfTerm]
    begun: list[LabOfTerm]
    students: list[StudentOfTerm]
    rule: Rule
    now: datetime
    not_counted: list[NotCounted]

    @property
    def warnings(self) -> list[str]:
        """What the totals leave out though it was handed in, a line each."""
        again = [(lab.name, [student.row for student in lab.students.values()]) for lab in self.begun]
        return [*map(str, self.not_counted), *(line for lab, rows in again for line in about_again(lab, rows))]

    @property
    def most(self) -> float:
        """The highest total."""
        counted = [lab.points for lab in self.begun if self.rule.weight(lab.name)]
        return (100.0 if counted else 0.0) if self.rule.percent else sum(counted)


def read_term(root: Path) -> Term:
    """How the class of the course at `root` stands.

    Raises LabError for a lab that cannot be read, StepFailed if the gradebook has no lab, or the rule cannot be.
    """
    course, now = Course(root), datetime.now(UTC).replace(tzinfo=None)
    every = find_labs(root)
    rule = rule_of(course.config, [lab.name for lab in every])
    labs = [lab_of_term(course, lab) for lab in every if registered(course, lab)]
    left_out = not_counted(course, every)
    if not labs:
        more = "".join(f"; {each}" for each in left_out)
        raise StepFailed(f"no lab was graded in this class; run `lockstep grade LAB` first{more}")
    begun = [lab for lab in labs if lab.begun(now)]
    ids = sorted({student for lab in labs for student in lab.students})
    with course.gradebook() as gradebook:
        known = {one.id: f"{one.first_name or ''} {one.last_name or ''}".strip() for one in gradebook.students}
    students = [student_of_term(one, known.get(one, ""), begun, rule, now) for one in ids]
    return Term(course, labs, begun, students, rule, now, left_out)


def class_deadline(root: Path, lab: Lab) -> datetime | None:
    """The class's deadline of a lab, naive UTC; None if the gradebook has none, or is not there."""
    course = Course(root)
    if not registered(course, lab):
        return None
    with course.gradebook() as gradebook:
        return gradebook.find_assignment(lab.name).duedate


def lab_of_term(course: Course, lab: Lab) -> LabOfTerm:
    """How the class did in one lab."""
    now = measure_now(course.root, lab)
    students = {student.row.student: student for student in class_of(course, lab, now)}
    with course.gradebook() as gradebook:
        deadline = gradebook.find_assignment(lab.name).duedate
    points = max([student.row.points for student in students.values()], default=0.0)
    return LabOfTerm(
        lab.name,
        points or now.most,
        now.todos,
        students,
        deadline,
        bool(load_hints(lab.folder, now.todos)),
        grades.csv_path(course, lab).with_name("report.html").exists(),
    )


def student_of_term(one: str, name: str, labs: list[LabOfTerm], rule: Rule, now: datetime) -> StudentOfTerm:
    """The student with the id `one` over all labs."""
    found = StudentOfTerm(one, name if name != one else "", [lab.name for lab in labs if lab.missing(one, now)])
    for lab in labs:
        row = lab.students[one].row if one in lab.students else None
        if lab.name in found.missing:
            found.reached.append(Reached(lab.name, 0.0, lab.points, settled=True))
        elif row is None or row.status == NOTHING:
            found.open.append(lab.name)
        elif row.status != GRADED:
            found.waiting[lab.name] = row.status
        if row is None:
            continue
        if row.score is not None:
            found.reached.append(Reached(lab.name, max(0.0, row.score), lab.points, settled=row.status == GRADED))
        if late := lab.students[one].late:
            found.late[lab.name] = late
        if row.extended:
            found.extended[lab.name] = row.deadline
    found.total = total(rule, found.reached)
    return found
