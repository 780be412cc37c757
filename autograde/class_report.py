"""`lockstep report`: one page on a lab for the instructor, from what grading left in the gradebook and in the class's
folder. It has names, scores and findings; never a case, nor more of an answer than a finding's message says.
"""

from __future__ import annotations

import csv
import math
import os
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import nbformat.v4
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nbgrader.api import MissingEntry
from sqlalchemy.engine import make_url

from autograde import grades
from autograde.build import build
from autograde.check import Check, Finding, Result
from autograde.converters import Course, StepFailed
from autograde.evidence import Marked
from autograde.grades import FAILED, GRADED, MANUAL, NOTHING, WAITING, Row
from autograde.grading import submissions
from autograde.labs import Lab, find_lab, load_checks
from autograde.nbgrader_steps import answers
from autograde.similar import ALIKE, FEWEST, Group, groups
from course.whole import write_whole

# Findings of runs that did not come to their end. All that end in "-limit" belong to them, too, and a lab's own names
# for a deadlock, which are known by their report: a rank waits.
STOPPED = {"hang", "too-slow", "rank-died", "sandbox-ended"}
WAITS = re.compile(r"^rank \d+ +waits in ", re.MULTILINE)
STATUSES = (GRADED, MANUAL, FAILED, WAITING, NOTHING)
BARS = 12  # that a histogram has at most
DARKEST = 0.65  # opacity of the red where a finding struck all; text stays readable on it


@dataclass
class Student:
    """One row of the table of scores.

    by_todo: what grading said; empty for who was not graded, or handed in what cannot be read. feedback: a link to it.
    manual: why a person has to look at the whole notebook, if so.
    """

    row: Row
    by_todo: dict[str, Marked]
    feedback: str | None
    manual: str | None

    def result(self, todo: str) -> Result | None:
        """The result of a TODO, if it was judged."""
        return self.by_todo[todo].result if todo in self.by_todo else None

    def findings(self, todo: str) -> list[Finding]:
        """The findings on a TODO."""
        result = self.result(todo)
        return result.findings if result else []

    @property
    def late(self) -> str:
        """How late it was handed in, if it was."""
        return duration(self.row.seconds_late or 0)


@dataclass
class Struck:
    """A line of the heat map: whom a finding struck, by TODO, and what it said to one of them."""

    key: str
    students: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def anywhere(self) -> set[str]:
        """Whom it struck in any TODO."""
        return set().union(*self.students.values())

    @property
    def said(self) -> dict[str, list[str]]:
        """The examples, and the TODOs of each."""
        said = defaultdict(list)
        for todo, message in self.examples.items():
            said[message].append(todo)
        return said


@dataclass(frozen=True)
class Bar:
    """One bar of the histogram: students with scores from `low` up to `high`, and of the last bar with `high`."""

    low: float
    high: float
    count: int


def write_report(root: Path, name: str) -> Path:
    """Write the page on the lab called `name` of the course at `root`. Returns its path.

    Raises LabError for an unknown lab, StepFailed where it was never graded or the page cannot be written.
    """
    lab = find_lab(root, name)
    checks = load_checks(lab.checks)
    course = Course(root)
    refuse_ungraded(course, lab)
    path = grades.csv_path(course, lab).with_name("report.html")
    page = render(course, lab, checks, class_of(course, lab, [check.todo for check in checks]))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page.encode("utf-8", "replace"))  # half a surrogate pair is no text
    except OSError as error:
        raise StepFailed(f"{path} is not written: {error.strerror or error}") from error
    return path


def refuse_ungraded(course: Course, lab: Lab) -> None:
    """Raise StepFailed if the gradebook, which is not made here, does not know the lab."""
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


def class_of(course: Course, lab: Lab, todos: list[str]) -> list[Student]:
    """All students of the course, by id."""
    rows = grades.collect_rows(course, lab, todos, submissions(course, lab), {})
    reasons = not_graded(course, lab)
    students = []
    for row in rows:
        if row.student in reasons:
            row.status = FAILED
            row.problems.append(reasons[row.student])
        notes = grades.notes(course, lab, row.student)
        manual = notes.get("manual")
        marked = [Marked.from_plain(plain) for plain in notes.get("marked", [])] if not manual else []
        feedback = feedback_link(course, lab, row.student)
        students.append(Student(row, {one.todo: one for one in marked}, feedback, manual))
    return students


def not_graded(course: Course, lab: Lab) -> dict[str, str]:
    """Why the last grading could not grade some students: as grades.csv has it, but for who was graded since."""
    path = grades.csv_path(course, lab)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("status") == FAILED]
        written = path.stat().st_mtime_ns
    except (OSError, ValueError, csv.Error):
        return {}
    reasons = {}
    for row in rows:
        graded = course.folder("autograded", row["student"], lab.name) / lab.notebook
        if not graded.exists() or graded.stat().st_mtime_ns < written:
            reasons[row["student"]] = row.get("problems") or "no reason is known"
    return reasons


def feedback_link(course: Course, lab: Lab, student: str) -> str | None:
    """Where a student's feedback is, as seen from the report; None if it is not there."""
    page = course.folder("feedback", student, lab.name) / f"{lab.name}.html"
    return quote(os.path.relpath(page, grades.csv_path(course, lab).parent)) if page.exists() else None


def render(course: Course, lab: Lab, checks: list[Check], students: list[Student]) -> str:
    """The page as HTML. Jinja escapes all that is put in, whoever wrote it."""
    scores = [student.row.score for student in students if student.row.status == GRADED]
    most = max([student.row.points for student in students], default=0.0) or sum(check.points for check in checks)
    counts = Counter(student.row.status for student in students)
    todos = [check.todo for check in checks]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template("class_report.html").render(
        lab=lab.name,
        now=datetime.now(UTC),
        checks=checks,
        students=students,
        by_id={student.row.student: student for student in students},
        counts={status: counts[status] for status in STATUSES if counts[status]},
        scores=scores,
        most=most,
        mean=statistics.fmean(scores) if scores else None,
        median=statistics.median(scores) if scores else None,
        bars=histogram(scores, most),
        graded=any(student.by_todo or student.manual for student in students),
        judged={todo: sum(student.result(todo) is not None for student in students) for todo in todos},
        heat=heat_map(students, todos),
        darkest=DARKEST,
        stopped=stopped(students, todos),
        ungradable=ungradable(students, todos),
        groups=similar(course, lab, students, todos),
        alike=ALIKE,
        fewest=FEWEST,
    )


def histogram(scores: list[float], most: float) -> list[Bar]:
    """How many scores are how high, from 0 to `most` points, in steps that people count in."""
    steps = [base * 10**power for power in range(-1, 6) for base in (1, 2, 2.5, 5)]
    step = next((step for step in steps if most / step <= BARS), most / BARS)
    number = max(1, math.ceil(most / step - 1e-9))
    counts = Counter(min(number - 1, max(0, math.floor(score / step + 1e-9))) for score in scores)
    return [Bar(index * step, (index + 1) * step, counts[index]) for index in range(number)]


def heat_map(students: list[Student], todos: list[str]) -> list[Struck]:
    """All findings of the class, those that struck most students first."""
    found: dict[str, Struck] = {}
    for todo in todos:
        for student in students:
            for finding in student.findings(todo):
                struck = found.setdefault(finding.key, Struck(finding.key))
                struck.students[todo].add(student.row.student)
                struck.examples.setdefault(todo, finding.message)
    return sorted(found.values(), key=lambda struck: (-len(struck.anywhere), struck.key))


def stopped(students: list[Student], todos: list[str]) -> list[tuple[Student, str, Finding]]:
    """Runs that did not come to their end: student, TODO and what was found."""
    return [
        (student, todo, finding)
        for student in students
        for todo in todos
        for finding in student.findings(todo)
        if finding.key in STOPPED or finding.key.endswith("-limit") or WAITS.search(finding.report)
    ]


def ungradable(students: list[Student], todos: list[str]) -> list[tuple[Student, str | None, str]]:
    """What waits for a person: student, TODO (None: the whole notebook) and why."""
    found: list[tuple[Student, str | None, str]] = []
    for student in students:
        if student.row.status == FAILED:
            found.append((student, None, student.row.problems[-1]))
        if student.row.status != MANUAL:
            continue
        said = [(todo, student.by_todo[todo].reason) for todo in todos if todo in student.by_todo]
        reasons = [(student, todo, reason) for todo, reason in said if reason]
        if student.manual:
            reasons.append((student, None, student.manual))
        found += reasons or [(student, None, "the gradebook asks for a look, as after regrading a manual score")]
    return found


def similar(course: Course, lab: Lab, students: list[Student], todos: list[str]) -> list[Group]:
    """Groups of students with answers that are much alike."""
    written = {}
    for student in students:
        if student.by_todo:
            path = course.folder("autograded", student.row.student, lab.name) / lab.notebook
            written[student.row.student] = answers(nbformat.v4.reads(path.read_text(encoding="utf-8")))[0]
    if len(written) < 2:
        return []
    released = answers(nbformat.v4.reads(build(lab).student[lab.notebook].content.decode()))[0]
    return groups(written, {todo: released[todo] for todo in todos if todo in released})


def duration(seconds: float) -> str:
    """Seconds in the two largest units that tell: `2 d 3 h`, `4 min`. Empty: none."""
    minutes = math.ceil(seconds / 60)
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def number(value: float | None) -> str:
    """Points with two decimals at most; a dash where there are none."""
    return "–" if value is None else f"{round(value, 2):g}"
