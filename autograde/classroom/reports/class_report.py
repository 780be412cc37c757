"""`lockstep report`: one page on a lab for the instructor, from the gradebook and the class's folder.

It shows names, scores and findings, but no case, and no more of an answer than a finding's message does.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import nbformat.v4

from autograde.classroom import grades
from autograde.classroom.grades import AGAIN, FAILED, GRADED, MANUAL, NOTHING, WAITING
from autograde.classroom.measure import Measure, measure_now
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.reports.pages import templates, write_page
from autograde.classroom.reports.students import Student, class_of, refuse_ungraded
from autograde.classroom.submissions.similarity import ALIKE, FEWEST, Group, groups
from autograde.classroom.submissions.submission import answers
from autograde.contract.result import LATER, NOT_DONE, Finding
from autograde.hints import KINDS, load_hints
from autograde.labs.folder import Lab, find_lab
from autograde.making.build import build

# Findings of runs that did not finish. So are all that end in "-limit", and a lab's own findings for a deadlock, which
# show in the report: a rank waits.
STOPPED = {"hang", "too-slow", "rank-died", "sandbox-ended"}
WAITS = re.compile(r"^ranks? [\d, -]+  waits? in ", re.MULTILINE)
STATUSES = (GRADED, AGAIN, MANUAL, FAILED, WAITING, NOTHING)
MAX_BARS = 12  # of a histogram
DARKEST = 0.65  # opacity of the red where all students have a finding; text stays readable on it


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
