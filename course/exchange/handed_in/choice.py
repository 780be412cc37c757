"""Which of a student's hand-ins counts, where an instructor has chosen one; without a choice it is the last.

The choice is a file in the exchange with the time of that hand-in, which its student may read. It holds until it is
taken back: what is handed in afterwards does not count, and its student is told so before.
"""

from __future__ import annotations

from pathlib import Path

from nbgrader.utils import parse_utc

from course.exchange.due import of_student
from course.exchange.extensions import put, show_to


def choice_file(root: Path | str, course: str, lab: str, student: str) -> Path:
    """The file with the choice in the exchange at `root`. No nbgrader command looks there."""
    return of_student(root, course, f".{lab}.counts", student)


def read_choice(root: Path | str, course: str, lab: str, student: str) -> str:
    """The time of the hand-in that was chosen, as in its name; empty if none was."""
    try:
        time = choice_file(root, course, lab, student).read_text(encoding="utf-8").strip()
        return time if parse_utc(time) else ""
    except (OSError, ValueError, OverflowError):
        return ""


def write_choice(path: Path, student: str, time: str) -> bool:
    """Choose the hand-in of this time; none, if that is empty. Returns whether the student sees it. Raises OSError."""
    if not time:
        path.unlink(missing_ok=True)
        return True
    put(path, f"{time}\n".encode())
    return show_to(path, student)
