"""What a lab measures submissions by, and which graded ones were measured otherwise.

Points, checks and the list of TODOs may change after somebody was graded. Each grading keeps
the measure that it used. What differs now is to be graded again, and its mark is not told until then.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograde.classroom.gradebook.graded import Graded
from autograde.labs.file_states import state_of
from autograde.labs.folder import Lab, LoadedLab, lab_package, load_lab
from autograde.labs.places import REPOSITORY
from course.files import write_whole

if TYPE_CHECKING:
    from nbgrader.api import Grade

# The kit that this process has imported: points may come from it.
KIT = state_of(path for folder in ("autograde", "course") for path in sorted((REPOSITORY / folder).rglob("*.py")))
CHANGED = "the lab's points, TODOs or checks have changed since it was graded"
INCOMPLETE = "its grading was not completed, or what was graded is gone"
OTHER_SCORES = "the gradebook has other scores than its grading gave"
NEWER = "another hand-in counts now than the one that was graded"


@dataclass(frozen=True)
class Measure:
    """What a lab measures submissions by.

    value: changes with all that a mark depends on: TODOs, questions, points, checks. points: by TODO, in the lab's
    order.
    """

    value: str
    points: Mapping[str, float]

    @property
    def todos(self) -> list[str]:
        """The names of the TODOs, in order."""
        return [*self.points]

    @property
    def most(self) -> float:
        """The points of all TODOs."""
        return sum(self.points.values())


def measure_of(lab: LoadedLab) -> Measure:
    """What a lab measures by whose checks are loaded."""
    points = {check.todo: float(check.points) for check in lab.todo_checks}
    questions = [(cell.kind, sorted(cell.marker.items())) for cell in lab.cells if "answer" in cell.marker]
    value = hashlib.sha256(repr((points, questions, sorted(lab.files.items()))).encode()).hexdigest()
    return Measure(value, points)


def measure_now(root: Path, lab: Lab) -> Measure:
    """What a lab measures by now. Raises LabError.

    It is noted in build/ of the course at `root`. As long as the lab's texts and the kit are as they were then, no
    check is imported, which takes seconds where one needs torch.
    """
    if isinstance(lab, LoadedLab):
        return measure_of(lab)
    with suppress(OSError, ValueError, LookupError, TypeError):
        source, value, points = json.loads(note_path(root, lab).read_text())
        if source == source_of(lab):
            return Measure(value, points)
    return measure_of(load_noted(root, lab))


def load_noted(root: Path, lab: Lab) -> LoadedLab:
    """The lab with its checks. What it measures by is noted, for `measure_now`. Raises LabError."""
    source, note = source_of(lab), note_path(root, lab)
    loaded = load_lab(lab)
    found = measure_of(loaded)
    with suppress(OSError):  # where somebody only looks
        note.parent.mkdir(parents=True, exist_ok=True)
        write_whole(note, json.dumps([source, found.value, found.points]).encode())
    return loaded


def note_path(root: Path, lab: Lab) -> Path:
    """The file of the note on a lab of the course at `root`."""
    return root / "build" / "measures" / lab.name


def source_of(lab: Lab) -> str:
    """A value that changes with all that decides what a lab measures by: its texts, and the kit. Raises LabError."""
    texts = sorted(lab_package(lab.folder).texts.items())
    return hashlib.sha256(repr((KIT, texts, lab.source.read_text(encoding="utf-8"))).encode()).hexdigest()


def why_again(graded: Graded | None, grades: Mapping[str, Grade], now: Measure, handed_in: bool) -> str | None:
    """Why a submission that has scores is to be graded again; None if it is not.

    graded: the notes on it. grades: the gradebook's, by cell. now: the lab's measure. handed_in: whether what the
    student handed in is there.
    """
    if graded is None:
        if handed_in and any(grade.auto_score is not None for grade in grades.values()):
            return INCOMPLETE
        return (
            CHANGED if points_of(grades) != {f"{todo}-check": points for todo, points in now.points.items()} else None
        )
    if graded.measured != now.value:
        return CHANGED
    scores = {f"{marked.todo}-check": marked.score for marked in graded.marked}
    if any(not same(grades[name].auto_score if name in grades else None, score) for name, score in scores.items()):
        return OTHER_SCORES
    return None


def points_of(grades: Mapping[str, Grade]) -> dict[str, float]:
    """The points that the gradebook has for each check's cell."""
    return {name: grade.max_score for name, grade in grades.items() if name.endswith("-check")}


def same(stored: float | None, score: float | None) -> bool:
    """Whether a score in the gradebook is this one, which a notebook's output rounds."""
    if stored is None or score is None:
        return stored is score
    return math.isclose(stored, score, rel_tol=1e-4, abs_tol=1e-4)
