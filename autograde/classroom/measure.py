"""What a lab measures submissions by, and which graded ones were measured otherwise.

Points, checks and the list of TODOs may change after somebody was graded. Each grading keeps
the measure that it used. What differs now is to be graded again, and its mark is not told until then.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from nbgrader.api import Grade

from autograde.classroom.gradebook.graded import Graded
from autograde.labs.folder import LoadedLab

CHANGED = "the lab's points, TODOs or checks have changed since it was graded"
INCOMPLETE = "its grading was not completed, or what was graded is gone"
OTHER_SCORES = "the gradebook has other scores than its grading gave"
NEWER = "another hand-in counts now than the one that was graded"


def measure(lab: LoadedLab) -> str:
    """A value that changes with all that a mark in `lab` depends on: TODOs, questions, points, checks."""
    points = {check.todo: float(check.points) for check in lab.todo_checks}
    questions = [(cell.kind, sorted(cell.marker.items())) for cell in lab.cells if "answer" in cell.marker]
    return hashlib.sha256(repr((points, questions, sorted(lab.files.items()))).encode()).hexdigest()


def why_again(
    lab: LoadedLab, graded: Graded | None, grades: Mapping[str, Grade], now: str, handed_in: bool
) -> str | None:
    """Why a submission that has scores is to be graded again; None if it is not.

    graded: the notes on it. grades: the gradebook's, by cell. now: the lab's measure. handed_in: whether what the
    student handed in is there.
    """
    if graded is None:
        if handed_in and any(grade.auto_score is not None for grade in grades.values()):
            return INCOMPLETE
        return CHANGED if points_of(grades) != points_now(lab) else None
    if graded.measured != now:
        return CHANGED
    scores = {f"{marked.todo}-check": marked.score for marked in graded.marked}
    if any(not same(grades[name].auto_score if name in grades else None, score) for name, score in scores.items()):
        return OTHER_SCORES
    return None


def points_now(lab: LoadedLab) -> dict[str, float]:
    """The points of each check's cell."""
    return {f"{check.todo}-check": float(check.points) for check in lab.todo_checks}


def points_of(grades: Mapping[str, Grade]) -> dict[str, float]:
    """The points that the gradebook has for each check's cell."""
    return {name: grade.max_score for name, grade in grades.items() if name.endswith("-check")}


def same(stored: float | None, score: float | None) -> bool:
    """Whether a score in the gradebook is this one, which a notebook's output rounds."""
    if stored is None or score is None:
        return stored is score
    return math.isclose(stored, score, rel_tol=1e-4, abs_tol=1e-4)
