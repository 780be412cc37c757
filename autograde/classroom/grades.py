"""The grades of one lab, from the gradebook: `grades.csv`, and the table at the end of a grading."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import parse_utc

from autograde.classroom.csv_file import write_csv_file
from autograde.classroom.errors import printable
from autograde.classroom.feedback import penalty_now
from autograde.classroom.gradebook.graded import Graded, read_failures
from autograde.classroom.measure import NEWER, Measure, measure_now, why_again
from autograde.classroom.nbgrader_course import Course
from autograde.labs.folder import Lab
from autograde.labs.places import CLASS
from course.exchange.due import to_the_minute
from course.exchange.names import TIMESTAMP
from course.files import Unreadable, read_plain

GRADED, MANUAL, FAILED = "graded", "needs manual grading", "not graded"
WAITING, NOTHING = "not graded yet", "no submission"
AGAIN = "to be graded again"  # what it was measured by has changed, see `autograde.classroom.measure`
MAX_TIMESTAMP = 1000  # bytes


@dataclass
class Row:
    """One student. A score is None if there is none yet; the late penalty is taken off `score`.

    by_hand: score and points of each text with points, by the name of its answer. penalty: points taken off.
    seed: of the cases; `lockstep grade --seed` repeats the grading exactly. jobs: cluster/number, of the records.
    findings: ``TODO:key``. criteria: of rubrics, ``TODO:criterion points/points``.
    to_read: names of the answers that wait to be graded by hand. deadline: the student's own, naive UTC; None if the
    lab has none. extended: whether it is later than the class's. comments: the instructor's. chosen: when what
    counts by the instructor's choice was handed in, UTC; empty if the last one counts.
    """

    student: str
    status: str
    score: float | None = None
    points: float = 0.0
    scores: dict[str, float | None] = field(default_factory=dict)
    by_hand: dict[str, tuple[float | None, float]] = field(default_factory=dict)
    penalty: float = 0.0
    findings: list[str] = field(default_factory=list)
    criteria: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    submitted: str = ""
    seconds_late: float | None = None
    seed: int | None = None
    jobs: list[str] = field(default_factory=list)
    to_read: list[str] = field(default_factory=list)
    deadline: datetime | None = None
    extended: bool = False
    comments: list[str] = field(default_factory=list)
    chosen: str = ""


def notes(course: Course, lab: Lab, student: str) -> Graded | None:
    """The notes on a student's graded submission; None if it was not graded."""
    return Graded.read(course.folder("autograded", student, lab.name) / lab.notebook)


def submissions(course: Course, lab: Lab, step: str | None = None) -> list[str]:
    """Ids of the students whose submissions of `lab` are in the class's folder; else in that of another step."""
    folder = course.root / (step or course.directory.submitted_directory)
    return (
        sorted(entry.name for entry in os.scandir(folder) if Path(entry.path, lab.name).is_dir())
        if folder.is_dir()
        else []
    )


def failures(course: Course, lab: Lab, handed_in: list[str]) -> dict[str, str]:
    """Why the last grading could not grade some of the students who handed in."""
    notebooks = {student: course.folder("autograded", student, lab.name) / lab.notebook for student in handed_in}
    return read_failures(failures_path(course, lab), notebooks)


def failures_path(course: Course, lab: Lab) -> Path:
    """The file that keeps these reasons."""
    return course.root / CLASS / lab.name / "failed.json"


def collect_rows(
    course: Course,
    lab: Lab,
    now: Measure,
    handed_in: list[str],
    failed: dict[str, str],
    opened: Gradebook | None = None,
) -> list[Row]:
    """One row per student of the course, by id. now: the lab's measure. handed_in: ids. failed: why some were not
    graded. opened: the gradebook, where it is open.

    Who was graded before, or has something in the exchange, has handed in, even if the gradebook is lost.
    """
    with nullcontext(opened) if opened else course.gradebook() as gradebook:
        known = [student.id for student in gradebook.students]
        rows = [row_of(course, gradebook, lab, student, now) for student in known]
    by_id = {row.student: row for row in rows}
    autograded = submissions(course, lab, course.directory.autograded_directory)
    handed_in = [*dict.fromkeys([*handed_in, *autograded, *course.in_exchange(lab.name)])]
    for student in sorted({*handed_in, *failed} - set(by_id)):
        by_id[student] = Row(printable(student), WAITING, scores=dict.fromkeys(now.todos))
    for row in same_job(rows):
        row.problems.append("run.json: another student's record is of the same job")
    for student, reason in failed.items():
        by_id[student].status = FAILED
        by_id[student].problems.append(reason)
    for student in handed_in:
        if by_id[student].status == NOTHING:
            by_id[student].status = WAITING
    return sorted(by_id.values(), key=lambda row: row.student)


def row_of(course: Course, gradebook: Gradebook, lab: Lab, student: str, now: Measure) -> Row:
    """The row of a student in the gradebook. now: the lab's measure."""
    todos = now.todos
    row = Row(student, NOTHING, scores=dict.fromkeys(todos), deadline=gradebook.find_assignment(lab.name).duedate)
    try:
        notebook = gradebook.find_submission_notebook(lab.name, lab.name, student)
    except MissingEntry:
        return row
    if notebook.assignment.extension and row.deadline:
        row.deadline, row.extended = notebook.assignment.duedate, True
    if chosen := course.chosen(lab.name, student):
        row.chosen = to_the_minute(parse_utc(chosen))
    found = notes(course, lab, student)
    grades = {grade.name.removesuffix("-check"): grade for grade in notebook.grades}
    known = {todo: grade for todo, grade in grades.items() if (grade.auto_score, grade.manual_score) != (None, None)}
    if not found and not known:  # only an extension is known, or that something was handed in
        row.status = WAITING if notebook.assignment.timestamp else NOTHING
        return row
    # An answer without points is for the instructor to read, and changes no grade.
    waiting = {name for name, grade in grades.items() if grade.needs_manual_grade and grade.max_score}
    row.status, row.to_read = MANUAL if waiting else GRADED, sorted(waiting - {*todos})
    row.scores = {todo: known[todo].score if todo in known else None for todo in todos}
    texts = [name for name in sorted(grades) if name not in todos and grades[name].max_score]
    row.by_hand = {
        name: (None if grades[name].needs_manual_grade else grades[name].score, grades[name].max_score)
        for name in texts
    }
    row.penalty = penalty_now(course, notebook)
    row.score = notebook.score - row.penalty
    row.points = notebook.max_score
    row.comments = [comment.manual_comment for comment in notebook.comments if comment.manual_comment]
    if notebook.assignment.timestamp:
        row.submitted = f"{utc(notebook.assignment.timestamp)} UTC"
    row.seconds_late = notebook.assignment.total_seconds_late if row.deadline else 0
    submitted = course.folder("submitted", student, lab.name)
    named = {grade.name: grade for grade in notebook.grades}
    reason = why_again(found, named, now, submitted.is_dir())
    if reason is None and found and submitted.is_dir():
        autograded = course.folder("autograded", student, lab.name)
        reason = NEWER if timestamp(submitted) != timestamp(autograded) else None
    if reason:  # what it was measured by is not what others are measured by: no number is told
        row.status, row.score, row.scores, row.problems = AGAIN, None, dict.fromkeys(todos), [reason]
        row.by_hand, row.penalty = {name: (None, points) for name, (_, points) in row.by_hand.items()}, 0.0
        return row
    if found is None:
        return row
    row.problems, row.seed, row.jobs = list(found.problems), found.seed, found.jobs
    for marked in found.marked:
        if marked.result:
            row.findings += [f"{marked.todo}:{finding.key}" for finding in marked.result.findings]
            row.criteria += [f"{marked.todo}:{each.name} {each.score:g}/{each.points:g}" for each in marked.result.rows]
        row.problems += [f"{marked.todo}: {marked.reason}"] if marked.reason else []
    return row


def timestamp(folder: Path) -> bytes | None:
    """When the submission was handed in, as nbgrader wrote it; None if it did not, or it cannot be read."""
    path = folder / TIMESTAMP
    try:
        return read_plain(path, MAX_TIMESTAMP) if path.exists() else None
    except (OSError, Unreadable):
        return None


def to_be_graded_again(course: Course, lab: Lab, opened: Gradebook | None = None) -> dict[str, str]:
    """Why marks are to be graded again, by student. opened: the gradebook, where it is open. Raises LabError."""
    rows = collect_rows(course, lab, measure_now(course.root, lab), [], {}, opened)
    return {row.student: row.problems[0] for row in rows if row.status == AGAIN}


def about_again(lab: str, rows: list[Row]) -> list[str]:
    """What to say of rows that are to be graded again, a line for each reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.status == AGAIN:
            reasons.setdefault(row.problems[0], []).append(printable(row.student))
    return [
        f"{lab}: {reason}: {'; '.join(students)}; no mark until `lockstep grade {lab}` has graded again"
        for reason, students in reasons.items()
    ]


def same_job(rows: list[Row]) -> list[Row]:
    """Rows with a record of the same job as another's."""
    counts = Counter(job for row in rows for job in row.jobs)
    return [row for row in rows if any(counts[job] > 1 for job in row.jobs)]


def write_csv(rows: list[Row], todos: list[str], path: Path) -> None:
    """Write `grades.csv`. Raises OSError."""
    texts = texts_of(rows)
    headings = [
        "student",
        "status",
        "score",
        "max",
        *todos,
        *texts,
        "late_penalty",
        "findings",
        "criteria",
        "problems",
        "submitted_at",
        "seconds_late",
    ]
    lines = [[*headings, "deadline", "seed"]]
    for row in rows:
        scores = [number(row.score), number(row.points), *parts_of(row, todos, texts), number(row.penalty)]
        words = ["; ".join(each) for each in (row.findings, row.criteria, row.problems)]
        times = [row.submitted, number(row.seconds_late), utc(row.deadline)]
        lines.append([row.student, row.status, *scores, *words, *times, row.seed])
    write_csv_file(path, lines)


def csv_path(course: Course, lab: Lab) -> Path:
    """Where the lab's grades are written."""
    return course.root / CLASS / lab.name / "grades.csv"


def table(rows: list[Row], todos: list[str]) -> str:
    """The rows as aligned text: what adds up to a score, and the late penalty where somebody has one."""
    texts, penalties = texts_of(rows), any(row.penalty for row in rows)
    lines = [["student", *todos, *texts, *["late"] * penalties, "score", "status"]]
    for row in rows:
        scores = [part or "-" for part in parts_of(row, todos, texts)]
        scores += [f"-{number(row.penalty)}" if row.penalty else ""] * penalties
        of = f"{number(row.score)}/{number(row.points)}" if row.score is not None else "-"
        lines.append([row.student[:32], *scores, of, row.status])
    widths = [max(cells(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(text + " " * (width - cells(text)) for text, width in zip(line, widths, strict=True))
        for line in lines
    )


def texts_of(rows: list[Row]) -> dict[str, float]:
    """The points of each text that is graded by hand, by the name of its answer."""
    return {name: points for row in rows for name, (_, points) in row.by_hand.items()}


def parts_of(row: Row, todos: list[str], texts: Iterable[str]) -> list[str]:
    """A row's scores, of the TODOs and then of the texts."""
    scores = [row.scores.get(todo) for todo in todos] + [row.by_hand.get(name, (None, 0.0))[0] for name in texts]
    return [number(score) for score in scores]


def cells(text: str) -> int:
    """How many cells of a terminal a text takes: two for each Chinese character, none for an accent of its own."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.category(letter) in ("Mn", "Me") for letter in text)


def number(value: float | None) -> str:
    """Points or seconds as text; empty for None."""
    return "" if value is None else f"{value:.10g}"


def utc(time: datetime | None) -> str:
    """A naive time in UTC, to the second; empty for None."""
    return time.isoformat(sep=" ", timespec="seconds") if time else ""
