"""Stores the notes of a grading for the next grading, the table of grades and the class report.

Scores are in the gradebook. All other results are in the metadata of the graded notebook, under "lockstep", where
nbgrader's own steps and the formgrader do not change them. If a submission could not be graded, there is no such
notebook, and the reason is in `failed.json` in the lab's class folder.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from autograde.sandbox.examine import Marked
from course.files import write_whole

KEY = "lockstep"


@dataclass
class Graded:
    """Notes on a graded submission.

    problems: what is wrong with it, one sentence each. manual: why a person must look at the whole notebook, if so.
    submission: its fingerprint. seed: of its cases. seconds: of `Examined`. marked: one per TODO, in the lab's order.
    jobs: cluster/number, of its records. measured: what the lab measured by, see `measure`; empty: not known.
    """

    problems: list[str]
    manual: str | None
    submission: str
    seed: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    marked: list[Marked] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    measured: str = ""

    def plain(self) -> dict:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def read(cls, notebook: Path) -> Graded | None:
        """The notes in a graded notebook; None if there is none, or our grading of it was not completed."""
        try:
            found = json.loads(notebook.read_text(encoding="utf-8"))["metadata"][KEY]
            known = {each.name: found[each.name] for each in fields(cls) if each.name != "measured"}
            known["measured"] = found.get("measured", "")  # not there in what an earlier version graded
            return cls(**{**known, "marked": [Marked.from_plain(mark) for mark in known["marked"]]})
        except (OSError, ValueError, LookupError, TypeError):
            return None


def read_failures(path: Path, notebooks: dict[str, Path]) -> dict[str, str]:
    """Why the last grading could not grade some students, without those who have been graded since.

    path: of `failed.json`. notebooks: paths that the graded notebooks have or will have, of students who handed in.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        reasons = {str(student): str(reason) for student, reason in found.items()}
        written = path.stat().st_mtime_ns
    except (OSError, ValueError, AttributeError):
        return {}
    left = {student: notebook for student, notebook in notebooks.items() if student in reasons}
    since = {
        student for student, notebook in left.items() if notebook.exists() and notebook.stat().st_mtime_ns >= written
    }
    return {student: reasons[student] for student in left if student not in since}


def write_failures(path: Path, reasons: dict[str, str]) -> None:
    """Keep these reasons for the next grading and the report. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(reasons, indent=1).encode() + b"\n")
