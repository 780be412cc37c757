"""`lockstep grades`: the marks of a lab, or of all, in a file that the university's system imports.

moodle: for *Grades > Import > CSV file*, UTF-8. Moodle identifies people by one column, and stops the whole import at
a person whom it does not know; a blank there gives the mark to the person above. So who has no entry in that column is
left out, and named. Mark and feedback are imported together, as feedback alone would delete the mark.
    https://docs.moodle.org/en/Grade_import, moodle/moodle: grade/import/csv/classes/load_data.php
canvas: for *Gradebook > Import*. The columns are Student, ID, SIS User ID, SIS Login ID, Section, then assignments, and
the second line has the points possible. Canvas makes an assignment of any other column, so comments and late days are
not in this file; they are in that of `csv`.
    https://community.canvaslms.com/t5/Instructor-Guide/How-do-I-import-grades-in-the-Gradebook/ta-p/807,
    instructure/canvas-lms: lib/gradebook_importer.rb
csv: everything, for any other system.

Who handed in nothing gets an empty mark, not 0, and so does who waits for a person to grade.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograde.classroom import grades
from autograde.classroom.csv_file import write_csv_file
from autograde.classroom.errors import StepFailed, describe, printable
from autograde.classroom.grades import FAILED, GRADED, MANUAL, NOTHING, WAITING, Row, about_again, number, utc
from autograde.classroom.measure import measure_now
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.reports.students import refuse_ungraded
from autograde.labs.folder import find_lab
from autograde.term.lists.headings import CANVAS_ID, EMAIL, NUMBER, SECTION, SIS_LOGIN, SIS_USER, USERNAME
from autograde.term.lists.list_file import POINTS_POSSIBLE
from autograde.term.lists.student_list import Person, from_gradebook, from_list, one_spelled_twice
from course.exchange.due import duration

CANVAS = (CANVAS_ID, SIS_USER, SIS_LOGIN)
MOODLE = (EMAIL, NUMBER, USERNAME)
FILES = {"moodle": "marks_moodle.csv", "canvas": "marks_canvas.csv", "csv": "marks.csv"}
DAYS_LATE = "days late"
UNCOUNTED = "handed in only what is not counted"  # status over all labs; see `autograde.term.not_counted`
OPEN = "has time left"  # status over all labs of who may still hand one in
UNKNOWN = "not in the gradebook"  # status of who is on a list, and is no student of this course
UNCLEAR = "not clear who it is"  # status of who is on a list with what two students have
DAY = 24 * 3600  # seconds


@dataclass(frozen=True)
class Marked:
    """What is marked. name: of the lab. most: points possible. said: a row in words. columns: what else is in the full
    table, by heading; days late are told to Moodle, too."""

    name: str
    rows: list[Row]
    most: float
    said: Callable[[Row], str]
    columns: dict[str, Callable[[Row], object]]


@dataclass(frozen=True)
class Line:
    """A person, and the person's row of grades. mark: points; None stays empty."""

    person: Person
    row: Row
    mark: float | None


def write_marks(
    root: Path, name: str, system: str, students: Path | None, zero: bool
) -> tuple[Path, list[str], list[str]]:
    """Write the marks in the lab called `name` for `system`: "moodle", "canvas" or "csv".

    students: a list of who is who in the system; without it the gradebook says so. zero: who handed in nothing, and
    whose deadline is over, gets 0. Returns the file, which marks are not in it though they were given, and what else
    the instructor should know, a line each. Raises LabError, StepFailed.
    """
    lab = find_lab(root, name)
    now, course = measure_now(root, lab), Course(root)
    refuse_ungraded(course, lab)
    handed_in = grades.submissions(course, lab)
    failed = grades.failures(course, lab, handed_in)
    rows = grades.collect_rows(course, lab, now, handed_in, failed)
    most = max([row.points for row in rows], default=0.0) or now.most
    columns = {DAYS_LATE: days_late, "deadline UTC": lambda row: utc(row.deadline)}
    marked = Marked(lab.name, rows, most, lambda row: feedback(row, now.points), columns)
    path = grades.csv_path(course, lab).with_name(FILES[system])
    path, notes = write_file(course, marked, path, system, students, zero)
    return path, about_again(lab.name, rows), notes


def write_file(
    course: Course, marked: Marked, path: Path, system: str, students: Path | None, zero: bool
) -> tuple[Path, list[str]]:
    """Write marks to the file at `path`. Returns it, and what the instructor should know; else as `write_marks`."""
    with course.gradebook() as gradebook:
        known = [from_gradebook(student) for student in gradebook.students]
    people, nobody = (known, []) if students is None else from_list(students, known)
    by_student = {row.student: row for row in marked.rows}
    lines = []
    for person in people:
        if person.student is None:  # that nobody was found says nothing of what was handed in
            lines.append(Line(person, Row("", UNCLEAR if person.why else UNKNOWN), None))
            continue
        row = by_student.pop(person.student, None) or Row("", NOTHING)
        lines.append(Line(person, row, mark_of(row, zero)))
    strangers = [line for line in lines if line.person.student is None]
    if lines and len(strangers) == len(lines):
        why = "; ".join([compared_with(strangers), *doubts(strangers)])
        raise StepFailed(f"{students}: nobody on it is in the gradebook; {why}; nothing is written")
    # Others are in the folder only, or not on the list.
    unknown = [row.student for row in by_student.values() if students is None or row.status != NOTHING]
    unlisted = "not in the gradebook" if students is None else f"not on the list {students}"
    notes = matched_by(people) + listed(f"{unlisted}, so not in the file", unknown)
    notes += listed("no people, so not in the file", nobody)
    if new := [line for line in strangers if not line.person.why]:
        notes += listed(f"{UNKNOWN}, mark left empty ({compared_with(new)})", [called(line) for line in new])
    notes += [f"{said}; mark left empty" for said in doubts(strangers)]
    notes += [
        f"{' and '.join(map(printable, group))} are two in the gradebook; is it one student?"
        for group in one_spelled_twice([person.student for person in known])
    ]
    twins: list[Line] = []
    if system == "moodle":
        key = max(MOODLE, key=lambda heading: sum(heading in line.person.ids for line in lines))
        lines, without = with_ids(lines, (key,))
        notes += shared_ids(lines)
        lines, twins = one_each(lines, (key,))
        table, hint = moodle(marked, lines, key), f"Moodle knows people by one column, here {key}"
    elif system == "canvas":
        lines, without = with_ids(lines, CANVAS)
        notes += shared_ids(lines)
        lines, twins = one_each(lines, CANVAS)
        table, hint = canvas(marked, lines), "Canvas knows people by ID, SIS User ID or SIS Login ID"
    else:
        notes += shared_ids(lines)
        table, without, hint = plain(marked, lines), [], ""
    if not lines:  # a file of headings would be taken for the marks
        why = f"nobody has an id there ({hint}; --students FILE gives ids)" if without else "there is nobody to mark"
        why = "; ".join(shared_ids(twins)) or why
        raise StepFailed(f"{students or marked.name}: {why}; nothing is written")
    notes += listed(
        f"without an id, so not in the file ({hint}; --students FILE gives ids)", [called(line) for line in without]
    )
    notes += listed("not in the file, as somebody else has the same id", [called(line) for line in twins])
    nothing = [line for line in lines if line.row.status == NOTHING]
    notes += listed("handed in nothing, 0 points", [called(line) for line in nothing if line.mark is not None])
    notes += listed("handed in nothing, mark left empty", [called(line) for line in nothing if line.mark is None])
    notes += listed(f"{UNCOUNTED}, mark left empty", [called(line) for line in lines if line.row.status == UNCOUNTED])
    undone = [called(line) for line in lines if line.row.status in (MANUAL, FAILED, WAITING)]
    notes += listed("not graded completely, mark left empty", undone)
    with_time = [called(line) for line in lines if line.row.status == OPEN]
    notes += listed("has time left for a lab, mark left empty", with_time)
    try:
        write_csv_file(path, table)
    except OSError as error:
        raise StepFailed(f"{path} is not written: {describe(error)}") from error
    return path, notes


def mark_of(row: Row, zero: bool) -> float | None:
    """The mark for a row; None if there is none yet."""
    if row.status == GRADED:
        return None if row.score is None else max(0.0, row.score)
    open_still = row.deadline is not None and row.deadline > datetime.now(UTC).replace(tzinfo=None)
    return 0.0 if zero and row.status == NOTHING and not open_still else None


def with_ids(lines: list[Line], headings: tuple[str, ...]) -> tuple[list[Line], list[Line]]:
    """The lines of people who have an id under one of the headings, and the others."""
    has = [line for line in lines if any(heading in line.person.ids for heading in headings)]
    return has, [line for line in lines if line not in has]


def one_each(lines: list[Line], headings: tuple[str, ...]) -> tuple[list[Line], list[Line]]:
    """The lines of people who alone have their first id under the headings, and the others: one's mark would be the
    other's."""
    keys = [
        next((heading, text.casefold()) for heading in headings if (text := line.person.ids.get(heading)))
        for line in lines
    ]
    counts = Counter(keys)
    alone = [line for line, key in zip(lines, keys, strict=True) if counts[key] == 1]
    return alone, [line for line, key in zip(lines, keys, strict=True) if counts[key] > 1]


def moodle(marked: Marked, lines: list[Line], key: str) -> list[list[object]]:
    """The table for Moodle; `key` is the heading of the ids."""
    late = [marked.columns[DAYS_LATE]] if DAYS_LATE in marked.columns else []
    headings = ["First name", "Last name", key, marked.name, f"{marked.name} (Feedback)"]
    table: list[list[object]] = [headings + [DAYS_LATE.capitalize() for _ in late]]
    for line in lines:
        person, row = line.person, line.row
        more = [column(row) for column in late]
        table.append([person.first, person.last, person.ids[key], number(line.mark), marked.said(row), *more])
    return table


def canvas(marked: Marked, lines: list[Line]) -> list[list[object]]:
    """The table for Canvas."""
    table: list[list[object]] = [["Student", *CANVAS, SECTION, marked.name]]
    table.append([POINTS_POSSIBLE, "", "", "", "", number(marked.most)])
    for line in lines:
        ids = [line.person.ids.get(heading) for heading in (*CANVAS, SECTION)]
        table.append([line.person.name or called(line), *ids, number(line.mark)])
    return table


def plain(marked: Marked, lines: list[Line]) -> list[list[object]]:
    """The table with everything."""
    ids = [EMAIL, NUMBER, USERNAME, *CANVAS]
    ids = [heading for heading in ids if any(heading in line.person.ids for line in lines)]
    who = ["lab", "student", "first name", "last name", *ids, "status"]
    table: list[list[object]] = [[*who, "points", "max", *marked.columns, "comment"]]
    for line in lines:
        person, row = line.person, line.row
        who = [marked.name, person.student, person.first, person.last, *(person.ids.get(heading) for heading in ids)]
        points = [row.status, number(line.mark), number(row.points or marked.most)]
        table.append([*who, *points, *(column(row) for column in marked.columns.values()), marked.said(row)])
    return table


def days_late(row: Row) -> int:
    """Days after the deadline, each day that has begun counted as one."""
    return math.ceil((row.seconds_late or 0) / DAY)


def feedback(row: Row, points_of: Mapping[str, float]) -> str:
    """A graded row in words: points and findings of each TODO, points of each text, how late it was and what that cost,
    then the instructor's comments. points_of: each TODO, in the lab's order."""
    if row.status != GRADED:
        return ""
    parts = []
    for todo, points in points_of.items():
        keys = [found.partition(":")[2] for found in row.findings if found.partition(":")[0] == todo]
        said = f"{todo}: {number(row.scores.get(todo)) or '-'} of {number(points)}"
        parts.append(said + (f" ({', '.join(keys)})" if keys else ""))
    parts += [f"{name}: {number(score) or '-'} of {number(points)}" for name, (score, points) in row.by_hand.items()]
    cost = f"; the penalty is {number(row.penalty)}" if row.penalty else ""
    late = [f"Handed in {duration(timedelta(seconds=row.seconds_late))} late{cost}."] if row.seconds_late else []
    return " ".join([f"{'; '.join(parts)}.", *late, *(" ".join(comment.split()) for comment in row.comments)])


def called(line: Line) -> str:
    """What to call the person of a line: the id in this course, else a name or any id."""
    return line.person.student or line.person.name or next(iter(line.person.ids.values()), "?")


def listed(what: str, people: list[str]) -> list[str]:
    """One line that names people, or none if there are none."""
    return [f"{what}: {'; '.join(map(printable, people))}"] if people else []


def matched_by(people: list[Person]) -> list[str]:
    """One line on which columns of a list found how many students; none without a list."""
    counts = Counter(heading for person in people if person.student for heading in person.compared)
    return [f"found by {', '.join(f'{heading}: {count}' for heading, count in counts.items())}"] if counts else []


def compared_with(strangers: list[Line]) -> str:
    """What of people on a list was looked for in the gradebook."""
    headings = dict.fromkeys(heading for line in strangers for heading in line.person.compared)
    return f"compared: {', '.join(headings)}" if headings else "no id on their lines"


def doubts(strangers: list[Line]) -> list[str]:
    """One line per person on a list whom something finds, but not surely."""
    said = []
    for line in strangers:
        who = printable(called(line))
        if line.person.why:
            said.append(f"{who} is not found: {line.person.why}")
        elif line.person.near:
            texts = ", ".join(map(printable, line.person.compared.values()))
            near = ", ".join(map(printable, line.person.near))
            said.append(f"{who} ({texts}) is not found, but nearly {near}: are zeros lost, or is it another spelling?")
    return said


def shared_ids(lines: list[Line]) -> list[str]:
    """One line per id that two people have: an import would give one of them the other's mark."""
    seen: dict[tuple[str, str], str] = {}
    found = []
    for line in lines:
        for heading in (*MOODLE, *CANVAS):
            if text := line.person.ids.get(heading):
                other = seen.setdefault((heading, text.casefold()), called(line))
                if other != called(line):
                    found.append(
                        f"{heading} {printable(text)} is that of both {printable(other)} and {printable(called(line))}"
                    )
    return found
