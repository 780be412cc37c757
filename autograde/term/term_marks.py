"""`lockstep grades` without a lab: totals over all labs, in a file that the university's system imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from autograde.classroom.grades import GRADED, NOTHING, Row, number
from autograde.labs.places import CLASS
from autograde.term.all_labs import LabOfTerm, StudentOfTerm, Term, read_term
from autograde.term.marks import FILES, OPEN, UNCOUNTED, Marked, write_file

NAME = "all_labs"


def write_term_marks(root: Path, system: str, students: Path | None, zero: bool) -> tuple[Path, list[str], list[str]]:
    """Write totals over all labs of the course at `root`, as `write_marks` does for a lab.

    Who has handed in some labs gets 0 for each other one whose deadline is over; who has handed in none gets an empty
    mark, or 0 with `zero`. Raises LabError, StepFailed.
    """
    term = read_term(root)
    by_id = {one.student: one for one in term.students}
    rows = [row_of(one, term) for one in term.students]
    columns = {lab.name: of_lab(lab) for lab in term.begun}
    marked = Marked(NAME, rows, term.most, lambda row: said(by_id.get(row.student), row, term), columns)
    path, notes = write_file(term.course, marked, term.course.root / CLASS / FILES[system], system, students, zero)
    return path, term.warnings, notes


def row_of(one: StudentOfTerm, term: Term) -> Row:
    """The row of a student over all labs. The deadline, which keeps a zero away, is the last that is not over."""
    handed_in = len(one.missing) + len(one.open) < len(term.begun)
    status = next(iter(one.waiting.values()), OPEN if one.open else GRADED) if handed_in else NOTHING
    if status == NOTHING and any(one.student in each.students for each in term.not_counted):
        status = UNCOUNTED
    score = None if one.total.score is None else round(one.total.score, 2)
    left = [lab.deadline_of(one.student) for lab in term.begun if lab.name in one.open]
    return Row(one.student, status, score, term.most, deadline=max(filter(None, left), default=None))


def of_lab(lab: LabOfTerm) -> Callable[[Row], object]:
    """What a student's row has in the column of a lab."""
    return lambda row: number(lab.students[row.student].row.score) if row.student in lab.students else ""


def said(one: StudentOfTerm | None, row: Row, term: Term) -> str:
    """How a mark came about: the points of each lab that counts, what was left out, the arithmetic."""
    if one is None or row.status != GRADED:
        return ""
    parts = []
    for reached in one.reached:
        weight = term.rule.weight(reached.lab)
        out = reached.lab in one.total.dropped or not weight
        how = " (left out)" if out else f" (counts {weight:g} ×)" if weight != 1 else ""
        parts.append(f"{reached.lab}: {number(reached.score)} of {number(reached.points)}{how}")
    percent = f" Percent: {one.total.how}." if one.total.how else ""
    return f"{'; '.join(parts)}.{percent}"
