"""What goes wrong with a class, in one line. Imports nothing of nbgrader, whose errors it knows by their names."""

from __future__ import annotations

from autograde.classroom.gradebook.locked import LOCKED, is_locked


class StepFailed(Exception):
    """A step of nbgrader failed. The message is one line."""


def unusable(student: str) -> str | None:
    """Why nbgrader cannot store a student with this id; None if it can."""
    try:
        student.encode()
    except UnicodeEncodeError:
        return "the name of the folder is not UTF-8; rename it"
    if not student.isprintable():
        return "the name of the folder has a line break or another control character; rename it"
    return None


def printable(name: str) -> str:
    """A name as it can be printed on one line of a terminal."""
    return name if unusable(name) is None else ascii(name)


def describe(error: BaseException) -> str:
    """One line on the error that stopped a step."""
    if error.__context__ is not None and type(error).__name__ == "NbGraderException":
        error = error.__context__
    if is_locked(error):
        return LOCKED
    if type(error).__name__ == "InvalidEntry":  # nbgrader's, around SQLAlchemy's
        return f"the gradebook: {' '.join(str(error).split())}"[:500]
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
