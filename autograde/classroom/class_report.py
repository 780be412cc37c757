"""`lockstep report`: one page on a lab for the instructor, from the gradebook and the class's folder.

It shows names, scores and findings, but no case, and no more of an answer than a finding's message does.
"""

from __future__ import annotations

import math
import os
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import nbformat.v4
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nbgrader.api import MissingEntry
from sqlalchemy.engine import make_url

from autograde.classroom import grades
from autograde.classroom.grades import AGAIN, FAILED, GRADED, MANUAL, NOTHING, WAITING, Row
from autograde.classroom.measure import Measure, measure_now
from autograde.classroom.nbgrader_course import Course, StepFailed
from autograde.classroom.submissions.similarity import ALIKE, FEWEST, Group, groups
from autograde.classroom.submissions.submission import answers
from autograde.contract.result import LATER, NOT_DONE, Finding, Result
from autograde.hints import KINDS, load_hints, read_taken
from autograde.labs.folder import Lab, find_lab
from autograde.making.build import build
from autograde.sandbox.examine import Marked
from course.exchange.due import duration
from course.files import write_whole
from course.jupyterhub.pages.hub_address import way_back

# Findings of runs that did not finish. So are all that end in "-limit", and a lab's own findings for a deadlock, which
# show in the report: a rank waits.
STOPPED = {"hang", "too-slow", "rank-died", "sandbox-ended"}
WAITS = re.compile(r"^ranks? [\d, -]+  waits? in ", re.MULTILINE)
STATUSES = (GRADED, AGAIN, MANUAL, FAILED, WAITING, NOTHING)
MAX_BARS = 12  # of a histogram
DARKEST = 0.65  # opacity of the red where all students have a finding; text stays readable on it


@dataclass
class Student:
    """One row of the table of scores.

    by_todo: the marks; empty if the student was not graded, or what was handed in cannot be read. feedback: a link to
    it. manual: why a person must look at the whole notebook, if so. hints: how many were unfolded, by TODO, as the note
    that was handed in has it.
    """

    row: Row
    by_todo: dict[str, Marked]
    feedback: str | None
    manual: str | None
    hints: dict[str, int] = field(default_factory=dict)

    def result(self, todo: str) -> Result | None:
        """The result for a TODO, if it was judged."""
        return self.by_todo[todo].result if todo in self.by_todo else None

    def findings(self, todo: str) -> list[Finding]:
        """The findings on a TODO."""
        result = self.result(todo)
        return result.findings if result else []

    @property
    def late(self) -> str:
        """How late it was handed in, if it was."""
        return duration(timedelta(seconds=self.row.seconds_late)) if self.row.seconds_late else ""


@dataclass
class HeatMapRow:
    """Who has a finding, by TODO, and one of the messages."""

    key: str
    students: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def anywhere(self) -> set[str]:
        """Who has the finding in any TODO."""
        return set().union(*self.students.values())

    @property
    def todos(self) -> dict[str, list[str]]:
        """The TODOs of each example."""
        todos = defaultdict(list)
        for todo, message in self.examples.items():
            todos[message].append(todo)
        return todos


@dataclass(frozen=True)
class Bar:
    """One bar of the histogram: students with scores from `low` up to `high`, which only the last bar includes."""

    low: float
    high: float
    count: int


def write_report(root: Path, name: str) -> Path:
    """Write the page on the lab called `name` of the course at `root`. Returns its path.

    Raises LabError for an unknown lab, StepFailed if it was never graded or the page cannot be written.
    """
    lab = find_lab(root, name)
    now, course = measure_now(root, lab), Course(root)
    refuse_ungraded(course, lab)
    page = render(course, lab, now, class_of(course, lab, now))
    return write_page(grades.csv_path(course, lab).with_name("report.html"), page)


def write_page(path: Path, page: str) -> Path:
    """Write a page of HTML. Returns its path. Raises StepFailed if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page.encode("utf-8", "replace"))  # half a surrogate pair cannot be encoded
    except OSError as error:
        raise StepFailed(f"{path} is not written: {error.strerror or error}") from error
    return path


def refuse_ungraded(course: Course, lab: Lab) -> None:
    """Raise StepFailed if the gradebook does not know the lab. Creates no gradebook."""
    url = make_url(course.directory.db_url)
    known = url.get_backend_name() != "sqlite" or Path(url.database or "").exists()
    if known:
        with course.gradebook() as gradebook:
            try:
                gradebook.find_assignment(lab.name)
            except MissingEntry:
                known = False
    if not known:
        raise StepFailed(f"{lab.name} was never graded in this class; run `lockstep grade {lab.name}` first")


def class_of(course: Course, lab: Lab, now: Measure) -> list[Student]:
    """All students of the course, in order of id. now: the lab's measure."""
    handed_in = grades.submissions(course, lab)
    rows = grades.collect_rows(course, lab, now, handed_in, grades.failures(course, lab, handed_in))
    students = []
    for row in rows:
        notes = grades.notes(course, lab, row.student)
        manual = notes.manual if notes else None
        marked = notes.marked if notes and not manual else []
        feedback = feedback_link(course, lab, row.student)
        hints = read_taken(course.folder("submitted", row.student, lab.name))
        students.append(Student(row, {mark.todo: mark for mark in marked}, feedback, manual, hints))
    return students


def feedback_link(course: Course, lab: Lab, student: str) -> str | None:
    """The path of a student's feedback, relative to the report; None if there is none."""
    page = course.folder("feedback", student, lab.name) / f"{lab.name}.html"
    return quote(os.path.relpath(page, grades.csv_path(course, lab).parent)) if page.exists() else None


def render(course: Course, lab: Lab, now: Measure, students: list[Student]) -> str:
    """The page as HTML. now: the lab's measure."""
    scores = [student.row.score for student in students if student.row.status == GRADED]
    todos = now.todos
    most = max([student.row.points for student in students], default=0.0) or now.most
    counts = Counter(student.row.status for student in students)
    return (
        templates()
        .get_template("class_report.html")
        .render(
            lab=lab.name,
            now=datetime.now(UTC),
            points=now.points,
            students=students,
            by_id={student.row.student: student for student in students},
            counts={status: counts[status] for status in STATUSES if counts[status]},
            scores=scores,
            most=most,
            texts=grades.texts_of([student.row for student in students]),
            mean=statistics.fmean(scores) if scores else None,
            median=statistics.median(scores) if scores else None,
            bars=histogram(scores, most),
            graded=any(student.by_todo or student.manual for student in students),
            judged={todo: sum(student.result(todo) is not None for student in students) for todo in todos},
            criteria=criteria_met(students),
            heat=heat_map(students, todos),
            darkest=DARKEST,
            hint_kinds=KINDS,
            hints=hints_taken(students, todos) if load_hints(lab.folder, todos) else {},
            stopped=stopped(students, todos),
            ungradable=ungradable(students, todos),
            groups=similar(course, lab, students, todos),
            alike=ALIKE,
            fewest=FEWEST,
        )
    )


def templates() -> Environment:
    """The pages' templates. Jinja escapes everything that is filled in."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.globals["courses"] = way_back()
    return environment


def histogram(scores: list[float], most: float) -> list[Bar]:
    """The bars for scores from 0 to `most` points, in round steps."""
    steps = [base * 10**power for power in range(-1, 6) for base in (1, 2, 2.5, 5)]
    step = next((step for step in steps if most / step <= MAX_BARS), most / MAX_BARS)
    number = max(1, math.ceil(most / step - 1e-9))
    counts = Counter(min(number - 1, max(0, math.floor(score / step + 1e-9))) for score in scores)
    return [Bar(index * step, (index + 1) * step, counts[index]) for index in range(number)]


def heat_map(students: list[Student], todos: list[str]) -> list[HeatMapRow]:
    """All findings of the class, those that most students have first. That a TODO was left is none."""
    rows: dict[str, HeatMapRow] = {}
    for todo in todos:
        for student in students:
            for finding in student.findings(todo):
                if finding.key == NOT_DONE:
                    continue
                row = rows.setdefault(finding.key, HeatMapRow(finding.key))
                row.students[todo].add(student.row.student)
                row.examples.setdefault(todo, finding.message)
    return sorted(rows.values(), key=lambda row: (-len(row.anywhere), row.key))


def criteria_met(students: list[Student]) -> dict[str, list[tuple[str, str, int, int, int]]]:
    """For each TODO its criteria: name, sentence, how many students meet it, do not, and of how many it
    could not be judged. Who left the TODO as it was does not count."""
    counts: dict[str, dict[tuple[str, str], Counter]] = {}
    for student in students:
        for todo, marked in student.by_todo.items():
            for row in marked.result.rows if marked.result and marked.result.started else ():
                counts.setdefault(todo, {}).setdefault((row.name, row.says), Counter())[row.state] += 1
    return {
        todo: [
            (*about, count["holds"], count["fails"], count["unjudged"] + count[LATER]) for about, count in rows.items()
        ]
        for todo, rows in counts.items()
    }


def hints_taken(students: list[Student], todos: list[str]) -> dict[str, list[int]]:
    """For each TODO how many students unfolded no hint, one, two, ...; of those who handed something in."""
    handed_in = [student for student in students if student.row.status != NOTHING]
    counts = {todo: Counter(student.hints.get(todo, 0) for student in handed_in) for todo in todos}
    return {todo: [count[number] for number in range(len(KINDS) + 1)] for todo, count in counts.items()}


def stopped(students: list[Student], todos: list[str]) -> list[tuple[Student, str, Finding]]:
    """Runs that did not finish: student, TODO and finding."""
    return [
        (student, todo, finding)
        for student in students
        for todo in todos
        for finding in student.findings(todo)
        if finding.key in STOPPED or finding.key.endswith("-limit") or WAITS.search(finding.report)
    ]


def ungradable(students: list[Student], todos: list[str]) -> list[tuple[Student, str | None, str]]:
    """What is left to a person: student, TODO (None: the whole notebook) and why."""
    found: list[tuple[Student, str | None, str]] = []
    for student in students:
        if student.row.status == AGAIN:
            found.append((student, None, f"{student.row.problems[0]}; `lockstep grade` grades again"))
        if student.row.status == FAILED:
            found.append((student, None, student.row.problems[-1]))
        if student.row.status != MANUAL:
            continue
        marks = [student.by_todo[todo] for todo in todos if todo in student.by_todo]
        reasons = [(student, mark.todo, mark.reason) for mark in marks if mark.reason]
        reasons += [(student, name, "an answer for you to read and grade") for name in student.row.to_read]
        if student.manual:
            reasons.append((student, None, student.manual))
        found += reasons or [(student, None, "the gradebook asks for a look, as after regrading a manual score")]
    return found


def similar(course: Course, lab: Lab, students: list[Student], todos: list[str]) -> list[Group]:
    """Groups of students with similar answers."""
    written = {}
    for student in students:
        if student.by_todo:
            path = course.folder("autograded", student.row.student, lab.name) / lab.notebook
            written[student.row.student] = answers(nbformat.v4.reads(path.read_text(encoding="utf-8")))[0]
    if len(written) < 2:
        return []
    released = answers(nbformat.v4.reads(build(lab).student[lab.notebook].content.decode()))[0]
    return groups(written, {todo: released[todo] for todo in todos if todo in released})


def number(value: float | None) -> str:
    """Points with at most two decimals; a dash for None."""
    return "–" if value is None else f"{round(value, 2):g}"
