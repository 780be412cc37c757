"""A lab that changes while it is graded: another TODO, scores by hand, grading without ranks."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest
from classroom import Classroom
from small_course import CHECKS_PY, LAB, PROBES_PY

from autograde.classroom import class_grading
from autograde.contract.result import Result, Row
from autograde.labs.folder import LoadedLab
from autograde.rubric.check import CallCheck
from autograde.sandbox.examine import Answers, Examined, Marked

THIRD = (
    '\n\n# %% todo="third"\ndef third(x):\n    """Thrice x."""\n    ### BEGIN SOLUTION\n    return 3 * x\n'
    '    ### END SOLUTION\n\n\n# %% check="third"\ncheck("third")\n'
)
THIRD_CHECK, THIRD_PROBE = (
    "# == third.py" + text.split("# == double.py")[1].split("# == total.py")[0].replace("double", "third")
    for text in (CHECKS_PY.replace("2 * x", "3 * x"), PROBES_PY)
)


def without_sandboxes(monkeypatch: pytest.MonkeyPatch, examined: Callable | None = None) -> None:
    """Have submissions graded by `examined`, else `examined_by_text`, and no sandbox made."""
    monkeypatch.setattr(class_grading, "examined_here", examined or examined_by_text)
    monkeypatch.setattr(class_grading, "warmed_up", lambda *about: nullcontext())


def graded_without_sandboxes(room: Classroom) -> Classroom:
    """The class, graded by `examined_by_text`: a module has one, and a copy of it for each test."""
    with pytest.MonkeyPatch.context() as patch:
        without_sandboxes(patch)
        done = room.grade()
    assert done.exit_code == 0, done.output
    return room


@contextmanager
def examined_by_text(
    lab: LoadedLab, answers: dict[str, Answers], *others: object
) -> Iterator[Iterator[tuple[str, Examined]]]:
    """In place of the sandbox, which takes seconds: an answer that is not blank is right."""

    def marked(answer: Answers) -> list[Marked]:
        return [
            Marked(
                check.todo,
                check.points,
                check.without_evidence("blank", "It is blank.") if check.todo in answer.blank else all_hold(check),
            )
            for check in lab.todo_checks
        ]

    yield (
        (student, Examined(marked(answer), 1, {"total": 0.0, "probing": 0.0})) for student, answer in answers.items()
    )


def all_hold(check: CallCheck) -> Result:
    """The result of an answer that is right."""
    rows = [Row(each.name, each.says, each.points, "holds") for each in check.criteria]
    return Result(check.todo, check.points, check.points, [], rows)


def marks(room: Classroom, *args: str) -> tuple[dict[str, str], str]:
    """The points that `lockstep grades` writes, by student, and what it says."""
    done = room.lockstep("grades", *args)
    assert done.exit_code == 0, done.output
    with open(done.output.splitlines()[-1], newline="") as file:
        return {row["student"]: row["points"] for row in csv.DictReader(file)}, done.output


def by_hand(room: Classroom, student: str, todo: str, points: float) -> None:
    """Give a score as the formgrader does."""
    with room.gradebook() as gradebook:
        grade = gradebook.find_grade(f"{todo}-check", LAB, LAB, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()
